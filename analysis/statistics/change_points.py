"""Change points of a series: E-divisive, the energy statistic with a permutation test.

Matteson & James, "A nonparametric approach for multiple change point analysis of multivariate
data", Journal of the American Statistical Association 109 (2014), 334-345. It takes nothing for
normal and looks at the whole distribution. MongoDB and Apache Otava watch benchmarks with it. What
was measured together moves together here: the orders of the test are those of whole units, since
what a unit shares would else pass for a change.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from analysis.statistics.arrays import Values, np
from analysis.statistics.significance import LEVEL

PERMUTATIONS = 199
"""Orders that are drawn at most, for a p-value of `LEVEL` that chance does not decide."""
LEAST_LAUNCHES = 3
"""The shortest part of a series that is told from the rest, in values."""
_SEED = 19
_FIRST_ORDERS = 8
"""Orders that are tried first, then twice as many: most parts without a change are clear."""
_AT_ONCE = 80_000
_TIES = 1 - 1e-9

_Whole: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
_Orders: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.signedinteger[Any]]]
_Allowed: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class _Part:
    """A part of a series of units."""

    first: int
    sums: Values
    """Sums of the distances between the values of each two units."""
    counts: _Whole
    places: _Allowed
    """True for units before which it may be split."""

    def divided(self, index: int) -> Iterator["_Part"]:
        for side in (slice(0, index), slice(index, None)):
            first = self.first + (side.start or 0)
            yield _Part(first, self.sums[side, side], self.counts[side], self.places[side])


def change_points(
    units: Sequence[Sequence[float]],
    *,
    borders: Sequence[int] | None = None,
    least: int = LEAST_LAUNCHES,
) -> tuple[int, ...]:
    """The units at which the distribution of the values changes, in their order.

    Parts of the series are split where that separates them best, one after the other, as long as at
    most one in a hundred orders of a part's units separates them so well.

    Args:
        units: the series in its order, on a scale where noise adds up; values that were measured
            together, such as launches of one run, are one unit.
        borders: units at which a part may begin; None for every one.
        least: the fewest values of a part.
    """
    values = np.array([value for unit in units for value in unit], dtype=float)
    if len(values) < 2 * least:
        return ()
    counts = np.array([len(unit) for unit in units])
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    distances = np.abs(values[:, None] - values[None, :])
    sums = np.add.reduceat(np.add.reduceat(distances, starts, axis=0), starts, axis=1)
    places = np.zeros(len(units), dtype=bool)
    places[slice(None) if borders is None else list(borders)] = True
    random = np.random.default_rng(_SEED)
    return tuple(sorted(_changes(_Part(0, sums, counts, places), least, random)))


def _changes(part: _Part, least: int, random: np.random.Generator) -> Iterator[int]:
    size = len(part.counts)
    if part.counts.sum() < 2 * least or not part.places[1:].any():
        return
    strengths = _strengths(part, np.arange(size)[None, :], least)[0]
    strength = strengths.max()
    if strength <= 0 or not _is_sure(part, strength, least, random):
        return
    index = 1 + int(np.argmax(strengths.max(axis=1)))
    yield part.first + index
    for half in part.divided(index):
        yield from _changes(half, least, random)


def _is_sure(part: _Part, strength: float, least: int, random: np.random.Generator) -> bool:
    allowed = LEVEL * (PERMUTATIONS + 1) - 1
    size = len(part.counts)
    count, exceeding, tried = _FIRST_ORDERS, 0, 0
    while tried < PERMUTATIONS:
        count = max(1, min(count, PERMUTATIONS - tried, _AT_ONCE // size**2))
        orders = random.permuted(np.tile(np.arange(size), (count, 1)), axis=1)
        greatest = _strengths(part, orders, least).max(axis=(1, 2))
        exceeding += int((greatest >= strength * _TIES).sum())
        if exceeding > allowed:
            return False
        tried += count
        count *= 2
    return True


def _strengths(part: _Part, orders: _Orders, least: int) -> Values:
    """The energy statistic of each split, for each order of the units; less than 0 for none.

    A split has two places: n values before the first, and m from there to the second, which lets a
    change be seen that another one follows. The statistic is nm/(n+m) times twice the mean distance
    between both sides, less the mean distances within each: equations 5 to 7 of the paper, with
    exponent 1. Sums of distances are differences of those of the first units with each other.

    Returns:
        An array by order, first place less 1, and second place less 1.
    """
    size = orders.shape[1]
    flat = (orders * size)[:, :, None] + orders[:, None, :]
    sums = part.sums.ravel().take(flat)
    np.cumsum(sums, axis=2, out=sums)
    np.cumsum(sums, axis=1, out=sums)
    whole = np.einsum("bkk->bk", sums).copy()
    equal = (part.counts == part.counts[0]).all()
    values = np.cumsum(part.counts[None, :] if equal else part.counts[orders], axis=1).astype(float)
    before, end = values[:, :, None], values[:, None, :]
    behind = end - before
    last = np.append(part.places[1:], True)
    allowed = (before >= least) & (behind >= least) & last[:, None] & last[None, :]
    within_before = np.maximum(before - 1, 1) * end
    within_behind = np.maximum(behind - 1, 1) * end
    of_first = np.where(allowed, -2 / end - behind / within_before - before / within_behind, 0.0)
    of_both = np.where(allowed, 2 / end + 2 * before / within_behind, 0.0)
    of_second = np.where(allowed, -before / within_behind, 0.0)
    sums *= of_both
    sums += whole[:, :, None] * of_first
    sums += whole[:, None, :] * of_second
    return sums
