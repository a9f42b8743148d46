"""A judged series drawn: its runs in the order of time, a band for each level, marked steps."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean

from analysis.charts.chart import HEIGHT, Chart
from analysis.charts.findings import uppercase_first
from analysis.charts.history.marks import Drawn, layers_of
from analysis.charts.layers import Point
from analysis.charts.words import file_stem, noun_count
from analysis.regress.cases import Case
from analysis.regress.judgements import Judgement
from analysis.regress.launches import LaunchedResult, PastResult
from analysis.regress.steps import LevelStep, bands_of
from analysis.results.metrics import Metric
from analysis.statistics.numbers import amount, change_words

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
BASELINE, JUDGED = "baseline", "judged"


@dataclass(frozen=True)
class _Run:
    """One run of the series."""

    result_id: str
    run_id: str
    measured_at: datetime | None
    git_commit: str | None
    grade: str | None
    logarithms: tuple[float, ...]
    level: int | None = None
    """The number of its level; None for a result that is no part of the history."""


def levels_chart(judgement: Judgement, case: Case, threshold: float) -> Chart:
    """The history of a series up to the judged result, with the verdict in the title.

    Args:
        judgement: the verdict.
        case: what it was reached from.
        threshold: the least relative change that matters, drawn about the baseline.
    """
    metric = judgement.metric
    runs = _runs(case)
    shown = _newest(runs, str(case.before.facts["result_id"]))
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
    return Chart(
        file_stem("regression", metric.name, judgement.cell_id),
        _title(judgement),
        _sentence(judgement, case, left_out=len(runs) - len(shown)),
        {"height": HEIGHT, **layers_of(drawn)},
        (backend,),
    )


def _runs(case: Case) -> list[_Run]:
    """The runs of the history, and those of the comparison that are no part of it."""
    runs = [
        _of_history(past, number)
        for number, level in enumerate(case.levels.results)
        for past in level
    ]
    known = {run.result_id for run in runs}
    before, after = _of_comparison(case.before), _of_comparison(case.after)
    first = [] if before.result_id in known else [before]
    last = [] if after.result_id in known else [after]
    return [*first, *runs, *last]


def _of_history(past: PastResult, level: int) -> _Run:
    return _Run(
        *(past.result_id, past.run_id, past.measured_at, past.git_commit, past.grade),
        *(past.logarithms, level),
    )


def _of_comparison(one: LaunchedResult) -> _Run:
    facts = one.facts
    return _Run(
        result_id=facts["result_id"],
        run_id=facts["run_id"],
        measured_at=facts["measured_at"],
        git_commit=facts["git_commit"],
        grade=facts["grade"],
        logarithms=one.logarithms,
    )


def _newest(runs: Sequence[_Run], baseline: str) -> list[_Run]:
    newest = [*runs[-_MOST_RUNS:]]
    older = [run for run in runs[:-_MOST_RUNS] if run.result_id == baseline]
    return [*older, *newest[len(older) :]]


def _run_points(runs: Sequence[_Run], case: Case, metric: Metric) -> list[Point]:
    roles = {case.before.facts["result_id"]: BASELINE, case.after.facts["result_id"]: JUDGED}
    return [
        {
            **_values(run, metric),
            "position": position,
            "run": run.run_id,
            "measured": _date(run.measured_at),
            "commit": _commit(run.git_commit),
            "grade": run.grade or "none",
            "role": roles.get(run.result_id, ""),
        }
        for position, run in enumerate(runs)
    ]


def _values(run: _Run, metric: Metric) -> Point:
    """The mean of a run with its least and its greatest launch, in the metric's unit."""
    value, low, high = (
        math.exp(one) for one in (fmean(run.logarithms), min(run.logarithms), max(run.logarithms))
    )
    several = len(run.logarithms) > 1
    return {
        "value": value,
        "low": low if several else None,
        "high": high if several else None,
        "number": amount(value, metric.unit),
        "launches": len(run.logarithms),
        "spread": f"{amount(low, '')} to {amount(high, metric.unit)}" if several else "one launch",
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
                "span": f"{amount(band.low, '')} to {amount(band.high, metric.unit)}",
                "runs": len(case.levels.results[number]),
            }


def _step_points(runs: Sequence[_Run], case: Case) -> Iterator[Point]:
    """The steps of the runs that are drawn, each between the last run before and its first."""
    positions = {run.result_id: position for position, run in enumerate(runs)}
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
    known = [run.measured_at for run in runs if run.measured_at is not None]
    short = bool(known) and max(known) - min(known) < _FEW_DAYS
    form = "%m-%d %H:%M" if short else "%Y-%m-%d"
    return [run.measured_at.strftime(form) if run.measured_at else run.run_id for run in runs]


def _date(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else None


def _commit(commit: str | None) -> str:
    return commit[:_LETTERS] if commit else "not known"


def _title(judgement: Judgement) -> str:
    change = f", {change_words(judgement.ratio)}" if judgement.ratio else ""
    verdict = uppercase_first(judgement.verdict)
    return f"{verdict}{change}: {judgement.metric.label} of {judgement.cell_id}"


def reading_words(threshold: float) -> str:
    """The meaning of bars, bands and lines."""
    return (
        "Bars go from the least to the greatest launch of a run; a band is where 95 of 100 further"
        f" runs of that level are expected; dotted lines are {100 * threshold:g} % from the"
        " baseline."
    )


def _sentence(judgement: Judgement, case: Case, *, left_out: int) -> str:
    """The finding in words."""
    unit = judgement.metric.unit
    before, after = (amount(side.geometric_mean, unit) for side in (case.before, case.after))
    reason = f": {judgement.reason}" if judgement.reason else ""
    sentences = (
        f"{before} in {case.before.facts['run_id']}, now {after} in {case.after.facts['run_id']}"
        f"{reason}.",
        _steps_words(judgement.steps),
        f"Not drawn: {noun_count(left_out, 'earlier run')}." if left_out else "",
    )
    return " ".join(filter(None, sentences))


def _steps_words(steps: Sequence[LevelStep]) -> str:
    if not steps:
        return ""
    named = "; ".join(map(_step_words, steps[-_NAMED_STEPS:]))
    earlier = len(steps) - _NAMED_STEPS
    more = f"; {noun_count(earlier, 'earlier step')}" if earlier > 0 else ""
    return f"{'A step' if len(steps) == 1 else 'Steps'} of the series: {named}{more}."


def _step_words(step: LevelStep) -> str:
    commit = f", commit {_commit(step.first.git_commit)}" if step.first.git_commit else ""
    accepted = f", accepted: {step.accepted}" if step.accepted else ""
    return f"{change_words(step.ratio)} since {step.run_id}{commit}{accepted}"
