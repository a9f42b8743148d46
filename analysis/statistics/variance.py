"""Variance of launches and of runs, estimated from runs at the same level."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True)
class Spread:
    """The standard error of a difference of two means, with its degrees of freedom."""

    error: float
    degrees: float


@dataclass(frozen=True)
class VarianceComponents:
    """One-way analysis of variance: mean squares within and between runs.

    Searle, Casella & McCulloch, "Variance Components" (1992), chapter 3: unbalanced data, by
    moments.
    """

    within: float
    """Mean square of launches about the mean of their run."""
    within_degrees: int
    between: float
    """Mean square of runs about the mean of their level, by their launches."""
    between_degrees: int
    launches_per_run: float
    """The number of launches of a run that counts, which is less than their mean where runs
    differ in it."""

    @property
    def runs_differ(self) -> bool:
        """True if runs differ by more than their launches make them."""
        return self.between_degrees > 0 and (self.within_degrees == 0 or self.between > self.within)

    def difference(self, before: Sequence[int], after: Sequence[int]) -> Spread:
        """The spread of a difference of two means, each over runs with so many launches.

        Degrees of freedom are those of Satterthwaite, "An approximate distribution of estimates of
        variance components", Biometrics Bulletin 2 (1946), 110-114.
        """
        inverse = sum(1 / sum(launches) for launches in (before, after))
        if not self.runs_differ:
            degrees = self.within_degrees + self.between_degrees
            squares = self.within * self.within_degrees + self.between * self.between_degrees
            return Spread(math.sqrt(squares / degrees * inverse), degrees)
        of_runs = sum(
            sum(count**2 for count in launches) / sum(launches) ** 2 for launches in (before, after)
        )
        share = of_runs / self.launches_per_run
        if self.within_degrees == 0:
            return Spread(math.sqrt(self.between * max(inverse, share)), self.between_degrees)
        parts = (
            (share * self.between, self.between_degrees),
            ((inverse - share) * self.within, self.within_degrees),
        )
        variance = max(sum(part for part, _ in parts), self.within * inverse)
        squares = sum(part**2 / degrees for part, degrees in parts)
        return Spread(math.sqrt(variance), variance**2 / squares)


def variance_components(levels: Iterable[Sequence[Sequence[float]]]) -> VarianceComponents | None:
    """The components over levels, each with its runs, each with the values of its launches.

    None without two values of a level.
    """
    known = [[run for run in runs if run] for runs in levels]
    within = sum(sum((value - fmean(run)) ** 2 for value in run) for runs in known for run in runs)
    within_degrees = sum(len(run) - 1 for runs in known for run in runs)
    between, between_degrees, counted = 0.0, 0, 0.0
    for runs in filter(None, known):
        launches = sum(map(len, runs))
        level = fmean(value for run in runs for value in run)
        between += sum(len(run) * (fmean(run) - level) ** 2 for run in runs)
        between_degrees += len(runs) - 1
        counted += launches - sum(len(run) ** 2 for run in runs) / launches
    if within_degrees + between_degrees == 0:
        return None
    return VarianceComponents(
        within / within_degrees if within_degrees else 0.0,
        within_degrees,
        between / between_degrees if between_degrees else 0.0,
        between_degrees,
        counted / between_degrees if between_degrees else 1.0,
    )
