"""Verdicts on regressions as a sheet, and as the plain data that JSON holds."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from analysis.compare.values import PART
from analysis.regress.judgements import Judgement
from analysis.regress.launches import LaunchedResult
from analysis.regress.steps import LevelStep
from analysis.regress.verdicts import RegressionVerdict
from analysis.results.differing import question_field
from analysis.results.table import Field, Table
from analysis.statistics.numbers import percent_text, signed_percent
from analysis.statistics.ratios import Estimate, interval_percent, outcome_facts
from orchestrator.commands.regress.answer import RegressionAnswer
from orchestrator.commands.regress.sentences import (
    CELL,
    MetricVerdicts,
    hidden_lines,
    verdict_lines,
    verdicts_by_metric,
)
from orchestrator.screen.sheet import ON_SCREEN, Sheet
from orchestrator.screen.tables import sparkline

_SHOWN: Sequence[RegressionVerdict] = ("regression", "improvement", "inconclusive")
"""Verdicts that have a row; of others the sentences tell."""
_MOST_ROWS = 40
_LEAST_COURSE = 3
"""Results whose course says more than both numbers do."""
_LEAST_P, _SMALL_P = 0.001, 0.01
_LONG = frozenset({"steps", "history"})
"""Keys of JSON that are longer than a cell of CSV."""


def regression_document(answer: RegressionAnswer) -> dict[str, Any]:
    """The answer as JSON has it; docs/regressions.md explains the keys."""
    judgements, request = answer.judgements, answer.request
    return {
        "baseline": judgements.base,
        "run": judgements.run,
        "threshold": judgements.threshold,
        "per_host": request.per_host,
        "require_grade": request.require_grade,
        "exit_code": answer.exit_code,
        "counts": dict(judgements.counts),
        "judgements": [judgement_data(one) for one in judgements.judgements],
        "shared_changes": list(judgements.shared_changes),
        "only_in_baseline": list(judgements.only_before),
        "only_in_run": list(judgements.only_after),
        "below_grade": [cell for cell, _ in answer.below_grade],
    }


def judgement_data(judgement: Judgement) -> dict[str, Any]:
    metric, before, after = judgement.metric, judgement.before, judgement.after
    return {
        "cell": judgement.cell_id,
        "part": judgement.facts.get(PART),
        "metric": metric.name,
        "column": metric.column,
        "unit": metric.unit,
        "more_is_better": metric.more_is_better,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        **outcome_facts(judgement.outcome, metric),
        **_side("baseline_", before),
        **_side("", after),
        **_ratio(judgement.ratio),
        "p_value": judgement.p_value,
        "noise_source": judgement.noise_source,
        "noise_basis": judgement.noise,
        "side_by_side": judgement.case.pair is not None if judgement.case else None,
        "launches_needed": judgement.launches_needed,
        "changes": None if judgement.changes is None else list(judgement.changes),
        "steps": [_step(step) for step in judgement.steps],
        "history": [_finite(value) for value in judgement.values],
    }


def _side(prefix: str, side: LaunchedResult | None) -> dict[str, Any]:
    facts: Mapping[str, Any] = side.facts if side else {}
    return {
        f"{prefix}value": _finite(side.value) if side else None,
        f"{prefix}geometric_mean": side.geometric_mean if side else None,
        f"{prefix}launches": len(side.launches) if side else None,
        f"{prefix}grade": facts.get("grade"),
        f"{prefix}marks": list(side.marks) if side else [],
        f"{prefix}run_id": facts.get("run_id"),
        f"{prefix}model_id": facts.get("model_id"),
        f"{prefix}measured_at": facts.get("measured_at"),
        f"{prefix}git_commit": facts.get("git_commit"),
        f"{prefix}image_digest": facts.get("image_digest"),
        f"{prefix}hostname": facts.get("hostname"),
    }


def _ratio(ratio: Estimate | None) -> dict[str, float | None]:
    return {
        "ratio": _finite(ratio.value) if ratio else None,
        "ratio_low": _finite(ratio.low) if ratio else None,
        "ratio_high": _finite(ratio.high) if ratio else None,
    }


def _finite(value: float) -> float | None:
    """The number; None for one that is not finite, which JSON cannot hold."""
    return value if math.isfinite(value) else None


def _step(step: LevelStep) -> dict[str, Any]:
    return {
        "run_id": step.run_id,
        "measured_at": step.date,
        "git_commit": step.first.git_commit,
        **_ratio(step.ratio),
        "accepted": step.accepted,
    }


def regression_sheet(
    answer: RegressionAnswer, form: str, *, wide: bool = False, blocks: bool = True
) -> Sheet:
    """The verdicts as a sheet; `wide` has rows for cells without a change too."""
    document = regression_document(answer)
    known = list(verdicts_by_metric(answer))
    everything = wide or form != ON_SCREEN
    tables, cut, unchanged = [], 0, 0
    for verdicts in known:
        changed, same = shown_judgements(verdicts), verdicts.by_verdict["no change"]
        rows = [*changed, *same] if everything else changed[:_MOST_ROWS]
        cut, unchanged = cut + max(0, len(changed) - len(rows)), unchanged + len(same)
        if rows:
            tables.append(metric_table(answer, verdicts, rows, blocks=blocks))
    hidden = hidden_lines(cut, unchanged) if tables and not everything else ()
    heading = [] if tables else [section_heading(answer, verdicts) for verdicts in known]
    notes = (*heading, *hidden, *verdict_lines(answer, known, wide=wide))
    data = [
        {name: value for name, value in row.items() if name not in _LONG}
        for row in document["judgements"]
    ]
    title = f"{answer.judgements.run} beside {answer.judgements.base}"
    return Sheet(title, tables, notes, document, data)


def shown_judgements(verdicts: MetricVerdicts) -> list[Judgement]:
    return [one for name in _SHOWN for one in verdicts.by_verdict[name]]


def section_heading(answer: RegressionAnswer, verdicts: MetricVerdicts) -> str:
    judgements = answer.judgements
    sides = f"{judgements.base} then and {judgements.run} now"
    limit = f"threshold {percent_text(judgements.threshold)} %"
    words = f"{verdicts.metric.label}, {sides}, geometric means of launches, {limit}"
    return ": ".join(filter(None, (words, verdicts.shared)))


def metric_table(
    answer: RegressionAnswer,
    verdicts: MetricVerdicts,
    judgements: Sequence[Judgement],
    *,
    blocks: bool,
) -> Table:
    metric = verdicts.metric
    cell = Field(CELL, "cell", essential=True, wraps=True)
    fields = [
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
    rows = [_row(one, verdicts.columns) for one in judgements]
    return Table(section_heading(answer, verdicts), fields, rows).filled()


def _row(judgement: Judgement, names: Sequence[str]) -> dict[str, Any]:
    before, after, ratio = judgement.before, judgement.after, judgement.ratio
    sides = [side for side in (before, after) if side]
    marks = dict.fromkeys(mark for side in sides for mark in side.marks)
    launches = f"{len(before.launches)}, {len(after.launches)}" if before and after else None
    return {
        "verdict": judgement.verdict,
        **{name: judgement.facts.get(name) for name in names},
        "before": before.geometric_mean if before else None,
        "after": after.geometric_mean if after else None,
        "change": f"{signed_percent(ratio.value - 1)} %" if ratio else None,
        "interval": interval_percent(ratio) if ratio else None,
        "marks": ", ".join(marks),
        "p": _p_words(judgement.p_value),
        "noise": judgement.noise_source,
        "launches": launches,
        "grades": " ".join(side.facts["grade"] or "–" for side in sides),
        "course": judgement.values if len(judgement.values) >= _LEAST_COURSE else (),
    }


def _p_words(p_value: float | None) -> str | None:
    if p_value is None:
        return None
    if p_value < _LEAST_P:
        return f"<{_LEAST_P:g}"
    return f"{p_value:.{1 if p_value < _SMALL_P else 2}g}"
