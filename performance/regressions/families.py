"""Simulated runs of many cells, of which few changed, and series with a step, as `regress` sees."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from analysis.regress.cases import Case, case_of
from analysis.regress.judgements import case_p_values
from analysis.regress.launches import LaunchedResult, PastResult
from analysis.regress.steps import levels_of
from analysis.regress.verdicts import RegressionVerdict, verdict_on
from analysis.statistics.paired import PairedRatio
from orchestrator.planning.groups import LOOKS
from performance.regressions.noise import Floats, ReplicateNoise

CHANGED_SHARE = 0.05
"""Cells of a family that changed, at least one."""
OTHER_CVS = (0.003, 0.05)
"""Least and greatest coefficient of variation of cells that nobody watches, log-uniform."""
LAUNCHES = 100
EDGE = 10
"""Launches before and behind a step, at least."""
STEP_THRESHOLD = 0.05
_BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Family:
    """A run of so many cells, against an earlier one."""

    cells: int
    cv: float
    """Coefficient of variation of the launches of a series that is watched."""
    step: float = 1.0
    """Times of the changed cells by those before; 1 if no cell changed, and all are watched."""
    launches: int = 5
    """Launches a side, and of each earlier run."""
    history: int = 0
    """Earlier runs."""
    side_by_side: bool = False
    """True if launches of both sides are rounds side by side, of which as many as decide are taken.
    """
    threshold: float = 0.05

    @property
    def changed(self) -> int:
        """The number of cells that changed."""
        return max(1, round(CHANGED_SHARE * self.cells)) if self.step != 1 else 0


def watched_verdicts(
    family: Family, noise: ReplicateNoise, random: np.random.Generator
) -> list[RegressionVerdict]:
    """The verdicts on the cells that changed; on all of them where none did."""
    cases = list(_cases(family, noise, random))
    p_values = case_p_values(cases)
    watched = family.changed or family.cells
    return [
        verdict_on(case.difference, p_value, family.threshold, more_is_better=False)
        for case, p_value in list(zip(cases, p_values, strict=True))[:watched]
        if case.difference is not None
    ]


def _cases(family: Family, noise: ReplicateNoise, random: np.random.Generator) -> Iterator[Case]:
    runs = family.history + 2
    hours = random.integers(len(noise.cells[0].runs), size=runs)
    if family.side_by_side:
        hours[-1] = hours[-2]
    low, high = map(math.log, OTHER_CVS)
    for number in range(family.cells):
        is_watched = not family.changed or number < family.changed
        cv = family.cv if is_watched else math.exp(random.uniform(low, high))
        values = noise.series(random, cv, hours, family.launches)
        if number < family.changed:
            values[-1] += math.log(family.step)
        yield simulated_case(values, family.threshold, side_by_side=family.side_by_side)


def simulated_case(values: Floats, threshold: float, *, side_by_side: bool) -> Case:
    """The case of the last run against the one before it, from logarithms, a row for each run."""
    runs, pair = [list(row) for row in values], None
    if side_by_side:
        pair = _rounds_taken(values[-1] - values[-2], threshold)
        runs[-2:] = [run[: len(pair.logarithms)] for run in runs[-2:]]
    history = history_of(runs)
    before, after = (_observation(past) for past in history[-2:])
    return case_of(before, after, history, {}, threshold, pair)


def _rounds_taken(logarithms: Floats, threshold: float) -> PairedRatio:
    """The ratio by the rounds after which a comparison side by side ends."""
    looks = (PairedRatio(tuple(map(float, logarithms[:look])), LOOKS) for look in LOOKS)
    *earlier, last = looks
    return next((one for one in earlier if one.is_decided(threshold)), last)


def history_of(runs: list[list[float]]) -> list[PastResult]:
    """The results of a series from the logarithms of each run's launches."""
    return [
        PastResult(
            result_id=f"result-{number:03}",
            run_id=f"run-{number:03}",
            measured_at=_BEGUN + timedelta(days=number),
            git_commit=None,
            grade="B",
            logarithms=tuple(map(float, launches)),
        )
        for number, launches in enumerate(runs)
    ]


def _observation(past: PastResult) -> LaunchedResult:
    facts = {
        "cell_id": "simulated",
        "result_id": past.result_id,
        "run_id": past.run_id,
        "measured_at": past.measured_at,
        "grade": past.grade,
        "process_spread": None,
        "process_spread_processes": None,
        "process_spread_degrees": None,
        "process_spread_queue": None,
    }
    launches = tuple(map(math.exp, past.logarithms))
    return LaunchedResult(facts, float(np.median(launches)), launches)


@dataclass(frozen=True)
class StepSetting:
    """A series of runs, each with so many launches."""

    launches_a_run: int
    cv: float
    """Coefficient of variation of its launches, but for the step."""
    step: float = 1.0
    """Times behind the step by those before; 1 without one."""


@dataclass(frozen=True)
class FoundSteps:
    """The share of series of a setting with each outcome."""

    within_one: float
    """With a step that is found within one launch."""
    none: float
    """Without any."""
    more: float
    """With a step that is elsewhere, be it beside the true one."""


def find_steps(
    setting: StepSetting, noise: ReplicateNoise, random: np.random.Generator, repetitions: int
) -> FoundSteps:
    """Simulate so many series and look for their steps."""
    within_one = none = more = 0
    for _ in range(repetitions):
        true_place, places = _one_series(setting, noise, random)
        near = [place for place in places if true_place and abs(place - true_place) <= 1]
        within_one += bool(near)
        none += not places
        more += len(places) > len(near[:1])
    return FoundSteps(*(count / repetitions for count in (within_one, none, more)))


def _one_series(
    setting: StepSetting, noise: ReplicateNoise, random: np.random.Generator
) -> tuple[int | None, list[int]]:
    """Launches before the true step, None without one, and before those that are found."""
    runs = LAUNCHES // setting.launches_a_run
    hours = random.integers(len(noise.cells[0].runs), size=runs)
    values = noise.series(random, setting.cv, list(hours), setting.launches_a_run)
    true_place = None
    if setting.step != 1:
        edge = math.ceil(EDGE / setting.launches_a_run)
        first = int(random.integers(edge, runs - edge + 1))
        values[first:] += math.log(setting.step)
        true_place = first * setting.launches_a_run
    levels = levels_of(history_of([list(row) for row in values]), {}, STEP_THRESHOLD)
    counts = [sum(len(past.logarithms) for past in level) for level in levels.results]
    return true_place, [int(place) for place in np.cumsum(counts)[:-1]]
