"""Change points of a series: E-divisive, the energy statistic with a permutation test.

Matteson & James, "A nonparametric approach for multiple change point analysis of multivariate
data", Journal of the American Statistical Association 109 (2014), 334-345. It takes nothing for
normal and looks at the whole distribution. MongoDB and Apache Otava watch benchmarks with it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.statistics.arrays import Values, np

PERMUTATIONS = 99
"""Orders that are drawn: if none has so strong a split, its p-value is at most 0.01."""
LEAST_LAUNCHES = 3
"""The shortest part of a series that is told from the rest."""
_SEED = 19


@dataclass(frozen=True)
class _Split:
    """The strongest split of a part of a series."""

    index: int
    """The place of the first value behind it."""
    strength: float


def change_points(
    values: Sequence[float],
    *,
    borders: Sequence[int] | None = None,
    least: int = LEAST_LAUNCHES,
) -> tuple[int, ...]:
    """The places at which the values' distribution changes, in their order.

    Parts of the series are split where that separates them best, one after the other, as long as no
    other order of the part's values, of `PERMUTATIONS` that are drawn, separates so well.

    Args:
        values: the series in its order, on a scale where noise adds up.
        borders: the places at which a part may begin, such as the first launch of each run; None
            for every one.
        least: the fewest values of a part.
    """
    array = np.asarray(values, dtype=float)
    allowed = np.ones(len(array) + 1, dtype=bool)
    if borders is not None:
        allowed[:] = False
        allowed[list(borders)] = True
    random = np.random.default_rng(_SEED)
    return tuple(sorted(_changes(array, 0, allowed, least, random)))


def _changes(
    values: Values,
    offset: int,
    allowed: np.ndarray[tuple[int], np.dtype[np.bool_]],
    least: int,
    random: np.random.Generator,
) -> Iterator[int]:
    """The places of changes inside a part that begins at `offset` of the series."""
    places = [place for place in range(least, len(values) - least + 1) if allowed[offset + place]]
    if not places:
        return
    distances = np.abs(values[:, None] - values[None, :])
    split = _strongest(distances, places)
    if split.strength <= 0:
        return
    for _ in range(PERMUTATIONS):
        order = random.permutation(len(values))
        if _strongest(distances[np.ix_(order, order)], places).strength >= split.strength:
            return
    yield offset + split.index
    yield from _changes(values[: split.index], offset, allowed, least, random)
    yield from _changes(values[split.index :], offset + split.index, allowed, least, random)


def _strongest(distances: Values, places: Sequence[int]) -> _Split:
    """The split with the greatest energy statistic.

    With n values before it and m behind, the statistic is nm/(n+m) times twice the mean distance
    between both sides, less the mean distances within each: equations 5 to 7 of the paper, with
    exponent 1.
    """
    count = len(distances)
    from_earlier = np.triu(distances, 1).sum(axis=0)
    within_before = np.concatenate(([0.0], np.cumsum(from_earlier)))
    to_all = np.concatenate(([0.0], np.cumsum(distances.sum(axis=0))))
    total = within_before[-1]
    before = np.asarray(places)
    behind = count - before
    between = to_all[before] - 2 * within_before[before]
    within_behind = total - within_before[before] - between
    energy = (
        2 * between / (before * behind)
        - within_before[before] / (before * (before - 1) / 2)
        - within_behind / (behind * (behind - 1) / 2)
    )
    strength = energy * before * behind / count
    best = int(np.argmax(strength))
    return _Split(int(before[best]), float(strength[best]))
