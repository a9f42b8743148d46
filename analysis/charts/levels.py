"""A judged series drawn: its runs in the order of time, a band for each level, marked steps."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean
from typing import Any

from analysis.charts.chart import HEIGHT, Chart
from analysis.charts.layers import Point, span_words
from analysis.charts.level_marks import Drawn, layers_of
from analysis.charts.words import file_stem, noun_count, uppercase_first
from analysis.regress.cases import Case
from analysis.regress.judgements import Judgement
from analysis.regress.steps import LevelStep, bands_of
from analysis.results.metrics import Metric
from analysis.statistics.numbers import amount
from analysis.statistics.ratios import change_words

_MOST_RUNS = 100
"""Runs of one drawing; of a longer series the newest are drawn, and the baseline."""
_NAMED_STEPS = 3
"""Steps that the sentence names; others are counted."""
_LETTERS = 12
"""Letters of a commit that are shown."""
_AT_END, _CLOSE = 0.7, 0.45
"""The share of the runs from which on a step's size stands on its left, and that between two steps
below which their sizes stand on two lines."""
_FEW_DAYS = timedelta(days=4)
"""The length of a series up to which its marks tell the time of the day."""


@dataclass(frozen=True)
class _Run:
    facts: Mapping[str, Any]
    logarithms: Sequence[float]
    level: int | None = None
    """The number of its level; None for a result that is no part of the history."""


def levels_chart(judgement: Judgement, case: Case, threshold: float) -> Chart:
    """The history of a series up to the judged result, with the verdict in the title.

    The threshold is the least relative change that matters, drawn about the baseline.
    """
    metric = judgement.metric
    runs = _runs(case)
    shown = _newest(runs, case.before.facts["result_id"])
    backend = str(case.after.facts["backend"])
    drawn = Drawn(
        metric=metric,
        backend=backend,
        runs=_run_points(shown, case, metric),
        bands=[*_bands(shown, case, metric)],
        steps=[*_step_points(shown, case)],
        moments=_moments(shown),
        baseline=case.before.geometric_mean,
        threshold=threshold,
    )
    change = f", {change_words(judgement.ratio)}" if judgement.ratio else ""
    verdict = uppercase_first(judgement.verdict)
    return Chart(
        file_stem("regression", metric.name, judgement.cell_id),
        f"{verdict}{change}: {metric.label} of {judgement.cell_id}",
        _sentence(judgement, case, left_out=len(runs) - len(shown)),
        {"height": HEIGHT, "layer": layers_of(drawn)},
        (backend,),
    )


def _runs(case: Case) -> list[_Run]:
    """The runs of the history, and those of the comparison that are no part of it."""
    levels = enumerate(case.levels.results)
    runs = [_Run(vars(past), past.logarithms, number) for number, level in levels for past in level]
    known = {run.facts["result_id"] for run in runs}
    first, last = (
        [] if side.facts["result_id"] in known else [_Run(side.facts, side.logarithms)]
        for side in (case.before, case.after)
    )
    return [*first, *runs, *last]


def _newest(runs: Sequence[_Run], baseline: str) -> list[_Run]:
    newest = runs[-_MOST_RUNS:]
    older = [run for run in runs[:-_MOST_RUNS] if run.facts["result_id"] == baseline]
    return [*older, *newest[len(older) :]]


def _run_points(runs: Sequence[_Run], case: Case, metric: Metric) -> list[Point]:
    roles = {case.before.facts["result_id"]: "baseline", case.after.facts["result_id"]: "judged"}
    return [
        {
            **_values(run, metric),
            "position": position,
            "run": run.facts["run_id"],
            "measured": _date(run.facts["measured_at"]),
            "commit": _commit(run.facts["git_commit"]),
            "grade": run.facts["grade"] or "none",
            "role": roles.get(run.facts["result_id"], ""),
        }
        for position, run in enumerate(runs)
    ]


def _values(run: _Run, metric: Metric) -> Point:
    """The mean of a run with its least and its greatest launch, in the metric's unit."""
    logarithms = run.logarithms
    value, low, high = map(math.exp, (fmean(logarithms), min(logarithms), max(logarithms)))
    several = len(logarithms) > 1
    return {
        "value": value,
        "low": low if several else None,
        "high": high if several else None,
        "number": amount(value, metric.unit),
        "launches": len(logarithms),
        "spread": span_words(low, high, metric.unit) if several else "one launch",
    }


def _bands(runs: Sequence[_Run], case: Case, metric: Metric) -> Iterator[Point]:
    for number, band in enumerate(bands_of(case.levels)):
        positions = [position for position, run in enumerate(runs) if run.level == number]
        if band is not None and positions:
            yield {
                "start": positions[0] - 0.5,
                "end": positions[-1] + 0.5,
                "level": band.value,
                "low": band.low,
                "high": band.high,
                "number": amount(band.value, metric.unit),
                "span": span_words(band.low, band.high, metric.unit),
                "runs": len(case.levels.results[number]),
            }


def _step_points(runs: Sequence[_Run], case: Case) -> Iterator[Point]:
    """The steps of the runs that are drawn, each between the last run before and its first."""
    positions = {run.facts["result_id"]: position for position, run in enumerate(runs)}
    before, line = -len(runs), 0
    for step in case.levels.steps:
        position = positions.get(step.first.result_id, 0)
        if position:
            line = 1 - line if position - before < _CLOSE * len(runs) else 0
            before = position
            change = change_words(step.ratio)
            label = change.partition(" (")[0]
            yield {
                "at": position - 0.5,
                "at_end": position > _AT_END * len(runs),
                "line": line,
                "label": f"{label}, accepted" if step.accepted else label,
                "change": change,
                "run": step.run_id,
                "date": _date(step.date),
                "commit": _commit(step.first.git_commit),
                "accepted": step.accepted is not None,
                "reason": step.accepted or "nobody accepted it",
            }


def _moments(runs: Sequence[_Run]) -> list[str]:
    """The moment of each run, as marks of an axis have it."""
    moments = [run.facts["measured_at"] for run in runs]
    known = [moment for moment in moments if moment is not None]
    short = bool(known) and max(known) - min(known) < _FEW_DAYS
    form = "%m-%d %H:%M" if short else "%Y-%m-%d"
    return [
        moment.strftime(form) if moment else run.facts["run_id"]
        for moment, run in zip(moments, runs, strict=True)
    ]


def _date(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else None


def _commit(commit: str | None) -> str:
    return commit[:_LETTERS] if commit else "not known"


def reading_words(threshold: float) -> str:
    """The meaning of bars, bands and lines."""
    return (
        "Bars go from the least to the greatest launch of a run; a band is where 95 of 100 further"
        f" runs of that level are expected; dotted lines are {100 * threshold:g} % from the"
        " baseline."
    )


def _sentence(judgement: Judgement, case: Case, *, left_out: int) -> str:
    unit = judgement.metric.unit
    before, after = (
        f"{amount(side.geometric_mean, unit)} in {side.facts['run_id']}"
        for side in (case.before, case.after)
    )
    reason = f": {judgement.reason}" if judgement.reason else ""
    more = f" Not drawn: {noun_count(left_out, 'earlier run')}." if left_out else ""
    return f"{before}, now {after}{reason}.{_steps_words(judgement.steps)}{more}"


def _steps_words(steps: Sequence[LevelStep]) -> str:
    """A further sentence on the steps; empty without one."""
    if not steps:
        return ""
    named = "; ".join(map(_step_words, steps[-_NAMED_STEPS:]))
    earlier = len(steps) - _NAMED_STEPS
    more = f"; {noun_count(earlier, 'earlier step')}" if earlier > 0 else ""
    return f" {'A step' if len(steps) == 1 else 'Steps'} of the series: {named}{more}."


def _step_words(step: LevelStep) -> str:
    commit = f", commit {_commit(step.first.git_commit)}" if step.first.git_commit else ""
    accepted = f", accepted: {step.accepted}" if step.accepted else ""
    return f"{change_words(step.ratio)} since {step.run_id}{commit}{accepted}"
