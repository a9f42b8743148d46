"""The output of verdicts: JUnit, Markdown, which format and file, and the commands below."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from analysis.regress.judgements import Judgement
from analysis.statistics.ratios import change_words
from orchestrator.commands.options.table import TableOptions
from orchestrator.commands.regress.answer import RegressionAnswer, regression_commands
from orchestrator.commands.regress.bisect import Proposal
from orchestrator.commands.regress.bisection_words import bisection_commands, bisection_sheet
from orchestrator.commands.regress.sentences import (
    MetricVerdicts,
    accepted_lines,
    circumstance_lines,
    full_name,
    metric_answers,
    model_lines,
    not_comparable_lines,
    one_sided_lines,
    round_lines,
    step_lines,
    step_words,
    trust_lines,
    verdicts_by_metric,
)
from orchestrator.commands.regress.table import (
    judgement_data,
    metric_table,
    regression_document,
    regression_sheet,
    section_heading,
    shown_judgements,
)
from orchestrator.commands.results.run_report import RunReport
from orchestrator.commands.results.run_words import print_results
from orchestrator.screen.lines import own_name, print_command, print_content, print_json, print_line
from orchestrator.screen.sheet import (
    ON_SCREEN,
    SHEET_FORMATS,
    json_bytes,
    markdown_prose,
    markdown_table,
    print_sheet,
    require_output,
    sheet_format,
    show_sheet,
)
from orchestrator.screen.tables import has_blocks
from orchestrator.system.files import is_stdout, output_file
from orchestrator.system.text import escape_control_line
from runner.contract.errors import UsageError

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold: the production `Char` of XML 1.0."""
_NO_PROPERTIES = frozenset({"cell", "metric", "reason", "changes", "steps", "history"})
"""Keys of JSON that test cases tell in other places."""
_OUTCOMES = ("tests", "failures", "errors", "skipped")
_VERDICTS: Mapping[int, str] = {
    0: "No regression",
    3: "Nothing could be judged",
    7: "Regression",
    8: "Inconclusive",
}
_MOST_ROWS = 100
"""GitHub takes no comment above 65,536 letters."""
_MOST_LINES = 30
VERDICT_SUFFIXES: Mapping[str, str] = {
    ".json": "json",
    ".markdown": "markdown",
    ".md": "markdown",
    ".xml": "junit",
}


def regression_junit(answer: RegressionAnswer) -> bytes:
    root = Element("testsuites", name="orchestrator regress")
    totals: Counter[str] = Counter()
    for verdicts in verdicts_by_metric(answer):
        totals += _suite(root, answer, verdicts)
    root.attrib |= {name: str(totals[name]) for name in _OUTCOMES}
    indent(root)
    content: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _suite(root: Element, answer: RegressionAnswer, verdicts: MetricVerdicts) -> Counter[str]:
    """A suite with the test cases of one metric; the number of each outcome."""
    judgements = answer.judgements
    name = f"{verdicts.metric.label}: {judgements.run} beside {judgements.base}"
    suite = SubElement(root, "testsuite", name=_xml(name))
    shared = {
        "baseline": judgements.base,
        "run": judgements.run,
        "threshold": judgements.threshold,
        "require_grade": answer.request.require_grade,
    }
    _add_properties(suite, shared)
    counts: Counter[str] = Counter()
    worse = {cell for cell, _ in answer.below_grade}
    for judgement in verdicts.judgements:
        counts["tests"] += 1
        counts[_add_case(suite, answer, judgement, below=judgement.cell_id in worse)] += 1
    suite.attrib |= {name: str(counts[name]) for name in _OUTCOMES}
    return counts


def _add_case(
    suite: Element, answer: RegressionAnswer, judgement: Judgement, *, below: bool
) -> str:
    """Add a test case; returns its outcome."""
    class_name = f"accelmatrix.{judgement.metric.name}"
    case = SubElement(
        suite, "testcase", classname=_xml(class_name), name=_xml(full_name(judgement))
    )
    data = judgement_data(judgement)
    _add_properties(case, {key: data[key] for key in data if key not in _NO_PROPERTIES})
    if judgement.verdict == "regression":
        size = change_words(judgement.ratio) if judgement.ratio else ""
        failure = SubElement(case, "failure", type="regression", message=_xml(size))
        failure.text = _xml("\n".join(_story(judgement)))
        return "failures"
    if judgement.verdict in {"inconclusive", "not comparable"}:
        message = f"{judgement.verdict}: {judgement.reason}"
    elif below:
        message = f"below the required grade {answer.request.require_grade}"
    else:
        return "passed"
    SubElement(case, "skipped", message=_xml(message))
    return "skipped"


def _story(judgement: Judgement) -> Iterator[str]:
    """Lines about a failure: the values, the noise, candidates for the cause, steps."""
    before, after, unit = judgement.before, judgement.after, judgement.metric.unit
    if before and after:
        yield f"{before.geometric_mean:g} {unit} then, {after.geometric_mean:g} {unit} now"
    if judgement.noise:
        yield f"noise: {judgement.noise}"
    yield from (f"changed beside: {change}" for change in judgement.changes or ())
    yield from (f"{step_words(step)}: {change_words(step.ratio)}" for step in judgement.steps)


def _add_properties(parent: Element, values: Mapping[str, object]) -> None:
    properties = SubElement(parent, "properties")
    for name, value in values.items():
        if value is not None and value not in ([], ""):
            SubElement(properties, "property", name=name, value=_xml(_text(value)))


def _text(value: object) -> str:
    """A value as JSON writes it, without quotes; a list joined by commas."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)


def _xml(text: str) -> str:
    """The text with characters escaped that no XML document may hold."""
    return _NO_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def regression_markdown(answer: RegressionAnswer) -> bytes:
    return "\n\n".join(_paragraphs(answer)).encode(errors="backslashreplace") + b"\n"


def _paragraphs(answer: RegressionAnswer) -> Iterator[str]:
    known = list(verdicts_by_metric(answer))
    sentences = markdown_prose(" ".join([*metric_answers(answer, known), *model_lines(answer)]))
    yield f"**{_VERDICTS[answer.exit_code]}**: {sentences}"
    for verdicts in known:
        yield markdown_prose(section_heading(answer, verdicts))
        if changed := shown_judgements(verdicts):
            yield _table(answer, verdicts, changed)
    for verdicts in known:
        if same := verdicts.by_verdict["no change"]:
            heading = f"{len(same):,} without a change in {verdicts.metric.label}"
            yield _details(heading, _table(answer, verdicts, same))
    lists: Mapping[str, Iterator[str]] = {
        "Pairs without a verdict": round_lines(answer),
        "What differs beside": circumstance_lines(answer),
        "Steps in the history": step_lines(answer, every=True),
        "Not comparable": not_comparable_lines(known),
        "Cells of one side alone": one_sided_lines(answer),
        "Accepted changes": accepted_lines(answer),
        "How far it can be trusted": trust_lines(answer),
    }
    for heading, lines in lists.items():
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
    if len(items) > most:
        yield f"\n{len(items) - most:,} more: `--format json` has them all."


def _details(heading: str, content: str) -> str:
    return f"<details><summary>{heading}</summary>\n\n{content}\n\n</details>"


_WRITERS: Mapping[str, Callable[[RegressionAnswer], bytes]] = {
    "json": lambda answer: json_bytes(regression_document(answer)),
    "junit": regression_junit,
    "markdown": regression_markdown,
}


def require_verdict_output(
    form: str | None, path: Path | None, chart: Path | None, *, force: bool, database: Path
) -> None:
    """Refuse files that cannot be written, before any work is done for them."""
    require_output(form, path, force=force, database=database, suffixes=VERDICT_SUFFIXES)
    if chart is not None:
        from orchestrator.screen.sheet_output import require_chart

        require_chart("--chart", chart, force=force, database=database)


def show_verdicts(
    answer: RegressionAnswer,
    form: str | None,
    path: Path | None,
    *,
    wide: bool = False,
    suffixes: Mapping[str, str] = VERDICT_SUFFIXES,
) -> None:
    """Print the verdicts, or write them into the file; `wide` leaves out no column or cell."""
    form = sheet_format(form, path, suffixes)
    if form == ON_SCREEN:
        print_verdicts(answer, wide=wide)
    elif form not in _WRITERS:
        show_sheet(regression_sheet(answer, form), form, path)
    elif path is None or is_stdout(path):
        print_content(_WRITERS[form](answer))
    else:
        with output_file(path) as file:
            file.write(_WRITERS[form](answer))


def print_verdicts(answer: RegressionAnswer, *, wide: bool = False) -> None:
    blocks = has_blocks(sys.stdout)
    print_sheet(regression_sheet(answer, ON_SCREEN, wide=wide, blocks=blocks), wide=wide)
    _print_commands(f"{own_name()} {command}" for command in regression_commands(answer))


def _print_commands(commands: Iterable[str]) -> None:
    for number, command in enumerate(commands):
        if not number:
            print_line("next:")
        print_command(command)


def require_search_output(form: str | None, path: Path | None, chart: Path | None) -> None:
    """Refuse a format or a chart that searches for causes do not have."""
    if chart is not None:
        raise UsageError("--chart: draws verdicts alone", hint="leave it out with --bisect")
    if (form := sheet_format(form, path, VERDICT_SUFFIXES)) not in SHEET_FORMATS:
        raise UsageError(f"--format {form}: is for verdicts alone", hint="`--format json`")


def show_search(proposal: Proposal, form: str | None, path: Path | None, *, wide: bool) -> None:
    form = sheet_format(form, path, VERDICT_SUFFIXES)
    show_sheet(bisection_sheet(proposal, form), form, path, wide=wide)
    if form == ON_SCREEN:
        _print_commands(bisection_commands(proposal))


def compared_data(report: RunReport, verdicts: RegressionAnswer) -> dict[str, object]:
    return report.data() | {"verdicts": regression_document(verdicts)}


def print_compared(
    report: RunReport,
    verdicts: RegressionAnswer,
    *,
    as_json: bool,
    table: TableOptions,
    quiet: bool,
) -> None:
    """Print the run's results, and below them the verdicts; as data both are one."""
    if as_json:
        print_json(compared_data(report, verdicts))
        return
    print_results(report, as_json=False, table=table, quiet=quiet, is_last=False)
    print_line()
    print_verdicts(verdicts)
