"""Whether rounds that are minutes apart measured the same thing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runner.measure.dispersion import effective_count, ranks


@dataclass(frozen=True)
class Drift:
    """What changed between rounds."""

    change: float | None
    """Median of the last round by that of the first, minus 1; None if the first is 0."""
    p_value: float
    """Chance of rounds so different if all came from one distribution."""


def drift(rounds: Sequence[Sequence[int]]) -> Drift | None:
    """Compare rounds of durations by Kruskal & Wallis' test; None with fewer than two rounds.

    H is scaled by effective_count / n of the rounds, since the test takes durations to be
    independent (a design effect: Kish, "Survey Sampling", 1965). With rounds of fewer than five
    effective durations the chi-square distribution is a coarse approximation of H's.
    """
    if len(rounds) < 2:
        return None
    effective = sum(effective_count(durations) for durations in rounds)
    share = effective / sum(len(durations) for durations in rounds)
    first, last = (float(np.median(durations)) for durations in (rounds[0], rounds[-1]))
    return Drift(
        change=last / first - 1 if first else None,
        p_value=chi_square_survival(share * kruskal_wallis(rounds), len(rounds) - 1),
    )


def kruskal_wallis(groups: Sequence[Sequence[float]]) -> float:
    """The statistic H with the correction for ties; 0 if all values are equal.

    Kruskal & Wallis, "Use of Ranks in One-Criterion Variance Analysis" (1952). With ties,
    12 / (N (N + 1)) becomes the inverse of the ranks' own variance, which is the same thing.
    """
    ranked = ranks(np.concatenate([np.asarray(group, dtype=float) for group in groups]))
    variance = float(np.var(ranked, ddof=1))
    if variance == 0:
        return 0.0
    ends = np.cumsum([len(group) for group in groups])[:-1]
    overall = float(np.mean(ranked))
    between = sum(len(part) * (np.mean(part) - overall) ** 2 for part in np.split(ranked, ends))
    return float(between) / variance


def chi_square_survival(value: float, degrees: int) -> float:
    """The chance that a chi-square variable of so many degrees of freedom exceeds the value.

    Abramowitz & Stegun, "Handbook of Mathematical Functions", 26.4.4 (odd) and 26.4.5 (even):
    finite sums of exp(-h) h^a / gamma(a + 1) with h = value / 2, in steps of 1 from a = 1/2 or 0
    to degrees / 2 - 1; odd degrees begin with erfc(sqrt(h)).
    """
    half, odd = value / 2, degrees % 2
    if half <= 0:
        return 1.0
    exponents = (odd / 2 + step for step in range((degrees - odd) // 2))
    terms = (math.exp(a * math.log(half) - half - math.lgamma(a + 1)) for a in exponents)
    return (math.erfc(math.sqrt(half)) if odd else 0.0) + sum(terms)
