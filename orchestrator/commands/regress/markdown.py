"""Verdicts on regressions as Markdown for a pull request: a verdict line, changes, details."""

from collections.abc import Iterator, Mapping, Sequence

from analysis.regress.judgements import Judgement
from orchestrator.commands.regress.answer import RegressionAnswer
from orchestrator.commands.regress.cells import MetricVerdicts, verdicts_by_metric
from orchestrator.commands.regress.next_steps import regression_commands
from orchestrator.commands.regress.sentences import (
    accepted_lines,
    circumstance_lines,
    metric_answers,
    not_comparable_lines,
    one_sided_lines,
    step_lines,
    trust_lines,
)
from orchestrator.commands.regress.table import (
    metric_table,
    section_heading,
    shown_judgements,
)
from orchestrator.screen.markdown import markdown_prose, markdown_table
from orchestrator.system.text import escape_control_line

_VERDICTS: Mapping[int, str] = {
    0: "No regression",
    3: "Nothing could be judged",
    7: "Regression",
    8: "Inconclusive",
}
"""The verdict on everything, by the exit code."""
_MOST_ROWS = 100
"""Rows of a table: GitHub takes no comment above 65,536 letters."""
_MOST_LINES = 30
"""Lines of a list, for the same reason."""


def regression_markdown(answer: RegressionAnswer) -> bytes:
    """The verdicts as Markdown."""
    return "\n\n".join(_paragraphs(answer)).encode(errors="backslashreplace") + b"\n"


def _paragraphs(answer: RegressionAnswer) -> Iterator[str]:
    known = list(verdicts_by_metric(answer))
    sentences = markdown_prose(" ".join(metric_answers(answer, known)))
    yield f"**{_VERDICTS[answer.exit_code]}**: {sentences}"
    for verdicts in known:
        yield markdown_prose(section_heading(answer, verdicts))
        if changed := shown_judgements(verdicts):
            yield _table(answer, verdicts, changed)
    for verdicts in known:
        if same := verdicts.by_verdict["no change"]:
            heading = f"{len(same):,} without a change in {verdicts.metric.label}"
            yield _details(heading, _table(answer, verdicts, same))
    for heading, lines in _lists(answer, known).items():
        if items := [f"- {markdown_prose(line)}" for line in lines]:
            yield _details(heading, "\n".join([*items[:_MOST_LINES], *_more(items, _MOST_LINES)]))
    if commands := regression_commands(answer):
        block = "\n".join(f"orchestrator {escape_control_line(one)}" for one in commands)
        yield _details("What to do next", f"```sh\n{block}\n```")


def _table(
    answer: RegressionAnswer, verdicts: MetricVerdicts, judgements: Sequence[Judgement]
) -> str:
    table = metric_table(answer, verdicts, judgements[:_MOST_ROWS], blocks=True)
    return "\n".join([markdown_table(table), *_more(judgements, _MOST_ROWS)]).rstrip("\n")


def _more(items: Sequence[object], most: int) -> Iterator[str]:
    """The number of what is left out."""
    if len(items) > most:
        yield f"\n{len(items) - most:,} more: `--format json` has them all."


def _lists(
    answer: RegressionAnswer, known: Sequence[MetricVerdicts]
) -> Mapping[str, Iterator[str]]:
    """Sentences by the heading under which they are folded."""
    return {
        "What differs beside": circumstance_lines(answer),
        "Steps in the history": step_lines(answer, every=True),
        "Not comparable": not_comparable_lines(known),
        "Cells of one side alone": one_sided_lines(answer),
        "Accepted changes": accepted_lines(answer),
        "How far it can be trusted": trust_lines(answer),
    }


def _details(heading: str, content: str) -> str:
    """A part that is folded until a reader opens it."""
    return f"<details><summary>{heading}</summary>\n\n{content}\n\n</details>"
