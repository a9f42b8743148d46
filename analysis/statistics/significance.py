"""Permutation tests over launches, shared by many comparisons, and the false discovery rate.

Five launches a side can be split in 252 ways, so that the least p-value of one comparison alone is
0.008: enough for one cell, too little for one of a thousand. The null distribution is therefore
that of all comparisons together, as in Tusher, Tibshirani & Chu, "Significance analysis of
microarrays", PNAS 98 (2001), 5116-5121: each gives a statistic for each of its splits. Statistics
of different numbers of launches are brought on one scale by the p-value that Student's t would
give them; which distribution the launches really have does not matter.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from analysis.statistics.arrays import Values, missing_extra, np

try:
    from scipy.special import stdtr, stdtrit
except ImportError as error:
    raise missing_extra() from error

LEVEL = 0.01
"""The share of false verdicts among those that say something changed."""
MOST_SPLITS = 5_000
"""Splits that are all tried; of more, `DRAWN` are drawn."""
DRAWN_SPLITS = 2_000
_TIES = 1e-6
"""Relative difference of p-values below which two splits are as extreme."""
_LEAST_P = 1e-300


@dataclass(frozen=True)
class LaunchSamples:
    """The launches of two sides, on a scale where noise adds up: logarithms of times."""

    before: tuple[float, ...]
    after: tuple[float, ...]
    variance: float = 0.0
    """The variance of launches that is known without these."""
    degrees: float = 0.0

    @property
    def splits(self) -> int:
        return math.comb(len(self.before) + len(self.after), len(self.before))

    @property
    def least_p_value(self) -> float:
        """The p-value of a side that lies wholly on one side of the other."""
        return (1 + (len(self.before) == len(self.after))) / self.splits

    @property
    def can_decide(self) -> bool:
        return self.least_p_value <= LEVEL

    @property
    def row(self) -> tuple[float, ...]:
        return self.after + self.before


def permutation_p_values(samples: Sequence[LaunchSamples]) -> tuple[float, ...]:
    """The two-sided p-value of each comparison, in their order.

    A p-value is the share of all splits of all comparisons that are at least as extreme as the
    launches as they were measured. That split is one of them, so no p-value is 0: Phipson & Smyth,
    "Permutation p-values should never be zero", Statistical Applications in Genetics and Molecular
    Biology 9 (2010), 39.
    """
    if not samples:
        return ()
    by_design: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, sample in enumerate(samples):
        by_design[len(sample.after), len(sample.before)].append(index)
    observed = np.empty(len(samples))
    null, weights = [], []
    for design, indices in by_design.items():
        chosen = [samples[index] for index in indices]
        rows = np.array([sample.row for sample in chosen])
        known = np.array([(sample.variance, sample.degrees) for sample in chosen], dtype=float)
        splits = _split_p_values(rows, known[:, 0], known[:, 1], design)
        observed[indices] = splits[:, 0]
        null.append(splits.ravel())
        weights.append(np.full(splits.size, 1 / splits.shape[1]))
    splits, weight = np.concatenate(null), np.concatenate(weights)
    order = np.argsort(splits)
    reached = np.concatenate(([0.0], np.cumsum(weight[order])))
    count = np.searchsorted(splits[order], observed * (1 + _TIES), side="right")
    shares = reached[count] / reached[-1]
    return tuple(map(float, shares))


def adjusted_p_values(p_values: Sequence[float]) -> tuple[float, ...]:
    """p-values for the share of false discoveries among all that are as small.

    Benjamini & Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical
    Society B 57 (1995), 289-300. `scipy.stats` has it too, and takes half a second to import.
    """
    values, count = np.array(p_values, dtype=float), len(p_values)
    falling = values.argsort()[::-1]
    values[falling] = np.minimum.accumulate(values[falling] * (count / np.arange(count, 0, -1)))
    return tuple(map(float, values.clip(max=1.0)))


def student_p_value(statistic: float, degrees: float) -> float:
    """The two-sided p-value of Student's t, of whole or fractional degrees of freedom."""
    return float(2 * stdtr(degrees, -abs(statistic)))


def student_quantile(confidence: float, degrees: float) -> float:
    """The value within which Student's t lies with that confidence, on both sides of 0."""
    return float(stdtrit(degrees, (1 + confidence) / 2))


def _split_p_values(
    rows: Values, known: Values, known_degrees: Values, design: tuple[int, int]
) -> Values:
    """Student's p-value of each row under each split; the first split is the measured one.

    The variance of launches is that within both sides, and that which is known of them beforehand,
    each by its degrees of freedom.
    """
    after, before = design
    rows = rows - rows.mean(axis=1, keepdims=True)
    sums = rows @ _members(after, before).T
    means = sums / after + sums / before
    squares = (rows**2).sum(axis=1, keepdims=True) - sums**2 / after - sums**2 / before
    degrees, inverse = after + before - 2, 1 / after + 1 / before
    all_degrees = degrees + known_degrees[:, None]
    squares = np.maximum(squares, np.finfo(float).tiny) + (known * known_degrees)[:, None]
    statistics = np.abs(means) / np.sqrt(squares / all_degrees * inverse)
    return np.asarray(np.maximum(2 * stdtr(all_degrees, -statistics), _LEAST_P))


@cache
def _members(after: int, before: int) -> Values:
    """Splits by row: 1 where a launch is dealt to the later side; the measured split first."""
    count = after + before
    if math.comb(count, after) <= MOST_SPLITS:
        chosen = [list(split) for split in combinations(range(count), after)]
    else:
        random = np.random.default_rng(count)
        drawn = (random.permutation(count)[:after] for _ in range(DRAWN_SPLITS - 1))
        chosen = [list(range(after)), *map(list, drawn)]
    members = np.zeros((len(chosen), count))
    for row, split in zip(members, chosen, strict=True):
        row[split] = 1
    return members
