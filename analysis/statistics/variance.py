"""Variance of launches and of runs, estimated from runs at the same level."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True)
class ShiftSpread:
    """The standard error of a difference of two means, with its degrees of freedom."""

    error: float
    degrees: float


@dataclass(frozen=True)
class RunPrior:
    """The spread of runs that other series tell, for one that has few runs of its own."""

    ratio: float
    """The standard deviation of runs by that of the launches of a run."""
    degrees: float
    """The degrees of freedom of runs at which those of the series weigh as much."""
    known_degrees: float
    known_launches: int


@dataclass(frozen=True)
class VarianceComponents:
    """One-way analysis of variance of unbalanced data by moments (Searle, Casella & McCulloch,
    "Variance Components" (1992), chapter 3): mean squares within and between runs.
    """

    within: float
    """Mean square of launches about the mean of their run."""
    within_degrees: float
    between: float
    """Mean square of runs about the mean of their level, by their launches."""
    between_degrees: int
    launches_per_run: float
    """Less than their mean where runs differ in it."""

    def difference(
        self, before: Sequence[int], after: Sequence[int], prior: RunPrior
    ) -> ShiftSpread:
        """The spread of a difference of two means, each over runs with so many launches.

        Launches vary by the mean square within runs. How much runs add follows from the mean square
        between them, which few runs tell badly: it is drawn towards the one that the prior expects
        of such launches, the more the fewer runs there are. That is the estimate of Smyth, "Linear
        models and empirical Bayes methods for assessing differential expression in microarray
        experiments", Statistical Applications in Genetics and Molecular Biology 3 (2004), 3, for a
        mean square; it takes no decision whether runs differ, which a few runs would take wrongly.
        Degrees of freedom are those of Satterthwaite, "An approximate distribution of estimates of
        variance components", Biometrics Bulletin 2 (1946), 110-114. Without launches of one run
        there is nothing to expect runs by, and those of the series alone count.

        Args:
            before: launches of each run of the one mean.
            after: launches of each run of the other.
            prior: what is known of runs without those of the series.
        """
        inverse = sum(1 / sum(launches) for launches in (before, after))
        of_runs = sum(
            sum(count**2 for count in launches) / sum(launches) ** 2 for launches in (before, after)
        )
        share = of_runs / self.launches_per_run
        if self.within_degrees == 0:
            return ShiftSpread(math.sqrt(self.between * max(inverse, share)), self.between_degrees)
        known = self.between_degrees / (self.between_degrees + prior.degrees)
        expected = 1 + self.launches_per_run * prior.ratio**2
        parts = (
            (share * known * self.between, self.between_degrees),
            ((share * (1 - known) * expected + inverse - share) * self.within, self.within_degrees),
        )
        variance, least = sum(part for part, _ in parts), self.within * inverse
        if variance <= least:
            return ShiftSpread(math.sqrt(least), self.within_degrees)
        squares = sum(part**2 / degrees for part, degrees in parts if degrees)
        launches = prior.known_launches
        unsure = of_runs * (1 - known) * (1 / launches + prior.ratio**2) * self.within
        squares += unsure**2 / prior.known_degrees
        return ShiftSpread(math.sqrt(variance), variance**2 / squares)


def variance_components(levels: Iterable[Sequence[Sequence[float]]]) -> VarianceComponents | None:
    """The components over levels, runs and launches; None without two values of a level."""
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
