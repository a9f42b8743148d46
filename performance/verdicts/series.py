"""Series of a hundred launches with a step or without, and the steps that are found in them."""

import math
from dataclasses import dataclass

import numpy as np

from analysis.regress.steps import levels_of
from performance.verdicts.families import history_of
from performance.verdicts.noise import ReplicateNoise

LAUNCHES = 100
EDGE = 10
"""Launches before and behind a step, at least."""
THRESHOLD = 0.05


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
    levels = levels_of(history_of([list(row) for row in values]), {}, THRESHOLD)
    counts = [sum(len(past.logarithms) for past in level) for level in levels.results]
    return true_place, [int(place) for place in np.cumsum(counts)[:-1]]
