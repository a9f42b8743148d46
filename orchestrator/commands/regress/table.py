"""Verdicts on regressions as a sheet: a row for each cell that changed or stays open."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from analysis.regress.judgements import Judgement
from analysis.regress.verdicts import RegressionVerdict
from analysis.results.differing import question_field
from analysis.results.table import Field, Table
from analysis.statistics.numbers import interval_percent, percent_text, signed_percent
from orchestrator.commands.regress.answer import RegressionAnswer
from orchestrator.commands.regress.cells import CELL, MetricVerdicts, verdicts_by_metric
from orchestrator.commands.regress.document import regression_document
from orchestrator.commands.regress.sentences import hidden_lines, verdict_lines
from orchestrator.commands.regress.sizes import p_words
from orchestrator.screen.sheet import ON_SCREEN, Sheet
from orchestrator.screen.tables import sparkline

_SHOWN: Sequence[RegressionVerdict] = ("regression", "improvement", "inconclusive")
"""Verdicts that have a row; of others the sentences tell."""
_MOST_ROWS = 40
"""Rows of a metric that a terminal shows."""
_LEAST_COURSE = 3
"""Results whose course says more than both numbers do."""


def regression_sheet(
    answer: RegressionAnswer, form: str, *, wide: bool = False, blocks: bool = True
) -> Sheet:
    """The verdicts as a sheet of this format.

    Args:
        answer: the verdicts.
        form: the format; on a terminal no more than can be read.
        wide: True if cells without a change have rows too.
        blocks: True for sparklines of block letters, False for ASCII.
    """
    document = regression_document(answer)
    title = f"{answer.judgements.run} beside {answer.judgements.base}"
    known = list(verdicts_by_metric(answer))
    everything = wide or form != ON_SCREEN
    changed = {verdicts: shown_judgements(verdicts) for verdicts in known}
    same = {verdicts: verdicts.by_verdict["no change"] for verdicts in known}
    rows = {
        verdicts: [*some, *same[verdicts]] if everything else some[:_MOST_ROWS]
        for verdicts, some in changed.items()
    }
    tables = [metric_table(answer, *pair, blocks=blocks) for pair in rows.items() if pair[1]]
    hidden = [] if everything or not tables else [_count(changed) - _count(rows), _count(same)]
    heading = [] if tables else [section_heading(answer, verdicts) for verdicts in known]
    notes = (*heading, *hidden_lines(*hidden), *verdict_lines(answer, known, wide=wide))
    data = [_flat(row) for row in document["judgements"]]
    return Sheet(title, tables, notes, document, data)


def _count(rows: Mapping[MetricVerdicts, Sequence[Judgement]]) -> int:
    return sum(map(len, rows.values()))


def shown_judgements(verdicts: MetricVerdicts) -> list[Judgement]:
    """The judgements of a metric that changed or stay open."""
    return [one for name in _SHOWN for one in verdicts.by_verdict[name]]


def metric_table(
    answer: RegressionAnswer,
    verdicts: MetricVerdicts,
    judgements: Sequence[Judgement],
    *,
    blocks: bool,
) -> Table:
    """A table of judgements of one metric, under the facts that all judged results share."""
    rows = [_row(one, verdicts.columns) for one in judgements]
    return Table(section_heading(answer, verdicts), _fields(verdicts, blocks=blocks), rows).filled()


def section_heading(answer: RegressionAnswer, verdicts: MetricVerdicts) -> str:
    """The metric, both sides, the threshold, and the facts that all judged results share."""
    judgements = answer.judgements
    sides = f"{judgements.base} then and {judgements.run} now"
    words = f"{verdicts.metric.label}, {sides}, threshold {percent_text(judgements.threshold)} %"
    return ": ".join(filter(None, (words, verdicts.shared)))


def _fields(verdicts: MetricVerdicts, *, blocks: bool) -> list[Field]:
    metric = verdicts.metric
    cell = Field(CELL, "cell", essential=True, wraps=True)
    return [
        Field("verdict", essential=True),
        *(cell if name == CELL else question_field(name) for name in verdicts.columns),
        Field("before", f"{metric.unit or metric.label} then", essential=True),
        Field("after", "now", essential=True),
        Field("change", essential=True, right=True),
        Field("interval", "95 %", right=True),
        Field("marks", "mark", essential=True, wraps=True),
        Field("p", right=True),
        Field("noise", "noise of"),
        Field("launches", right=True),
        Field("grades"),
        Field("course", shown=partial(sparkline, blocks=blocks)),
    ]


def _row(judgement: Judgement, names: Sequence[str]) -> dict[str, Any]:
    before, after, ratio = judgement.before, judgement.after, judgement.ratio
    sides = [side for side in (before, after) if side]
    marks = dict.fromkeys(mark for side in sides for mark in side.marks)
    return {
        "verdict": judgement.verdict,
        **{name: judgement.facts.get(name) for name in names},
        "before": before.geometric_mean if before else None,
        "after": after.geometric_mean if after else None,
        "change": f"{signed_percent(ratio.value - 1)} %" if ratio else None,
        "interval": interval_percent(ratio) if ratio else None,
        "marks": ", ".join(marks),
        "p": p_words(judgement.p_value),
        "noise": judgement.noise_source,
        "launches": _launches(judgement),
        "grades": " ".join(side.facts["grade"] or "–" for side in sides),
        "course": judgement.values if len(judgement.values) >= _LEAST_COURSE else (),
    }


def _launches(judgement: Judgement) -> str | None:
    if judgement.before is None or judgement.after is None:
        return None
    return f"{len(judgement.before.launches)}, {len(judgement.after.launches)}"


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of JSON as CSV has it, without what is longer than a cell."""
    return {name: value for name, value in row.items() if name not in {"steps", "history"}}
