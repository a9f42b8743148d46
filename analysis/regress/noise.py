"""Noise of a series: what two runs of it differ by though nothing changed.

The figures of the A/A study, what launches of equal results differed by, are those of the study
`aa_grades` (docs/studies.md): 66 rows of the study `contention` and the committed replicates' 32
results.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from analysis.compare.values import spread_degrees, spread_in_words
from analysis.regress.launches import LaunchedResult, PastResult
from analysis.statistics.paired import PairedRatio, share_of_look
from analysis.statistics.significance import student_quantile
from analysis.statistics.variance import (
    RunPrior,
    ShiftSpread,
    VarianceComponents,
    variance_components,
)
from runner.contract.record.verdict import Grade

NoiseSource: TypeAlias = Literal["pairs", "history", "launches", "calibration", "study"]
LEAST_RUNS = 5
"""Runs at one level that tell what runs differ by."""
LEAST_DEGREES = 4
"""Degrees of freedom from which on launches tell what launches differ by."""
TAIL_DEGREES = 4
"""Degrees of freedom of the Student's t that stands for the study's pairs: tails are heavy."""
RUN_PRIOR = RunPrior(ratio=0.66, degrees=5, known_degrees=20, known_launches=5)
"""The spread of runs in the replicates beside that of launches: 8 runs of each of 4 cells. It
weighs as much as five degrees of freedom, as cells differed in it (Smyth 2004, section 6.2), and
their mean is known as well as by twenty: with more, clean runs without a history are accused."""
_STUDY_CONFIDENCE = 0.99


@dataclass(frozen=True)
class Apart:
    """The distances of launches in pairs of results of a grade, as differences of logarithms."""

    pairs: int
    p99: float


APART: Mapping[Grade, Apart] = {"B": Apart(175, 0.133), "C": Apart(2830, 0.170)}
"""By the worse grade of a pair. Of grade A were none, so B stands for it; those of grade D, 3.9
apart, decide nothing."""


@dataclass(frozen=True)
class SeriesNoise:
    """The difference of two runs of a series though nothing changed."""

    source: NoiseSource
    basis: str
    """In words."""
    difference: Callable[[int, int], ShiftSpread]
    """The spread of the difference of two runs with so many launches, in logarithms."""
    share: Callable[[int], float] = lambda _: 1.0
    """The share of the test's level that the verdict after so many launches has."""


def noise_between(
    before: LaunchedResult, after: LaunchedResult, levels: Sequence[Sequence[PastResult]]
) -> SeriesNoise | None:
    """The noise of a difference of results that were measured apart, by the first that tells it.

    These are, in order: the history of the series, in levels with no step between them; launches of
    both runs and of earlier ones; the calibration of the host; the A/A study. None where not even
    the study knows such grades, or where both are of another metric.
    """
    known = {past.result_id for level in levels for past in level}
    # a result beyond the history is a level of its own
    sides = [[side.logarithms] for side in (before, after) if side.facts["result_id"] not in known]
    history = [[past.logarithms for past in level] for level in levels]
    components = variance_components([*history, *sides])
    if components is not None and components.between_degrees >= LEAST_RUNS - 1:
        launches = sum(len(run) for level in history for run in level)
        basis = f"{sum(map(len, history))} runs with {launches} launches"
        return _of_components("history", basis, components)
    if components is not None and components.within_degrees >= LEAST_DEGREES:
        basis = f"launches, with {components.within_degrees} degrees of freedom"
        return _of_components("launches", basis, components)
    if not after.as_noisy_as_latency:
        return None
    return _of_calibration(before, after) or _of_study(before, after)


def _of_components(source: NoiseSource, basis: str, components: VarianceComponents) -> SeriesNoise:
    """Launches tell what launches differ by, and runs, together with the study, what runs add."""

    def difference(before: int, after: int) -> ShiftSpread:
        return components.difference([before], [after], RUN_PRIOR)

    return SeriesNoise(source, basis, difference)


def noise_of_pair(pair: PairedRatio) -> SeriesNoise:
    """The noise of a ratio between rounds, in which fresh launches of both were side by side."""
    rounds = len(pair.logarithms)

    def difference(count: int, _: int) -> ShiftSpread:
        return ShiftSpread(pair.deviation / math.sqrt(count), pair.degrees + count - rounds)

    basis = f"{rounds} rounds side by side"
    return SeriesNoise("pairs", basis, difference, partial(share_of_look, looks=pair.looks))


def _of_calibration(before: LaunchedResult, after: LaunchedResult) -> SeriesNoise | None:
    for side in (after, before):
        processes = side.facts["process_spread_processes"]
        if processes is None:
            continue
        spread = side.facts["process_spread"]
        apart = spread_in_words(spread, in_queue=bool(side.facts["process_spread_queue"]))
        basis = f"what is known of this host, {processes} processes {apart} apart"
        degrees = spread_degrees(side.facts["process_spread_degrees"])
        components = VarianceComponents(spread**2, degrees, 0.0, 0, 1.0)
        return _of_components("calibration", basis, components)
    return None


def _of_study(before: LaunchedResult, after: LaunchedResult) -> SeriesNoise | None:
    """The 99th percentile of what pairs of results of the worse grade differed by."""
    grade = max(before.grade, after.grade)
    apart = next((APART[known] for known in APART if known >= grade), None)
    if apart is None:
        return None
    error = apart.p99 / student_quantile(_STUDY_CONFIDENCE, TAIL_DEGREES)

    def difference(before: int, after: int) -> ShiftSpread:
        return ShiftSpread(error * math.sqrt((1 / before + 1 / after) / 2), TAIL_DEGREES)

    basis = f"the A/A study, {apart.pairs} pairs of grade {grade}"
    return SeriesNoise("study", basis, difference)
