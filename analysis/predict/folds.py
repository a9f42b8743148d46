"""Folds of examples that hide what questions of a novelty do not know."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from analysis.predict.examples.placements import Placement
from analysis.predict.novelty import HIDDEN, Novelty, asked, extents_of, share_of
from analysis.statistics.arrays import Places, np

_FOLDS = 5
_MORE_FOLDS: Mapping[Novelty, int] = {"pair": 10, "model": 10}
"""The number of folds of novelties whose errors depend on the number of examples: with a fifth of
them hidden they would be a tenth too large."""
_MOST_DEVICES = 12
"""Folds of devices, each of which is left out alone as long as there are no more."""
_CUTS = (1 / 4, 1 / 2)
GroupKey: TypeAlias = Callable[[Placement], Hashable]
_NEIGHBOURS: Mapping[Novelty, GroupKey] = {
    "shape": HIDDEN["range"],
    "variant": lambda placement: placement.model,
}
"""The groups whose members are hidden one after the other, so that neighbours are known: sizes of a
series, configurations of a model."""
_Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Fold:
    """Examples that are hidden, and those that answer for them."""

    known: Places
    hidden: Places
    groups: int


def folds_of(placements: Sequence[Placement], novelty: Novelty) -> list[Fold]:
    if novelty == "range":
        every = [*_cuts(placements)]
    else:
        numbers = np.array(_numbers(placements, novelty))
        always = np.zeros(len(placements), dtype=bool)
        if novelty == "run":
            always[_single_runs(placements)] = True
        every = [(numbers != one) | always for one in range(max(numbers, default=-1) + 1)]
    folds = []
    for known in every:
        is_asked = asked([placements[row] for row in np.flatnonzero(known).tolist()], novelty)
        hidden = [row for row in np.flatnonzero(~known).tolist() if is_asked(placements[row])]
        if hidden:
            groups = len({HIDDEN[novelty](placements[row]) for row in hidden})
            folds.append(Fold(np.flatnonzero(known), np.array(hidden), groups))
    return folds


def _numbers(placements: Sequence[Placement], novelty: Novelty) -> list[int]:
    """The number of the fold that hides each example: a model's devices follow each other."""
    keys = [HIDDEN[novelty](placement) for placement in placements]
    if novelty == "device":
        order = _order(keys)
        return [order[key] % _MOST_DEVICES for key in keys]
    share, folds = cache(share_of), _MORE_FOLDS.get(novelty, _FOLDS)
    if novelty == "pair":
        devices = _order(one.device.key for one in placements)
        return [(share(one.model, folds) + devices[one.device.key]) % folds for one in placements]
    if novelty in _NEIGHBOURS:
        return _spread(placements, _NEIGHBOURS[novelty], keys, folds)
    return [share(key, folds) for key in keys]


def _spread(
    placements: Sequence[Placement], group: GroupKey, keys: Sequence[Hashable], folds: int
) -> list[int]:
    places: dict[Hashable, dict[Hashable, int]] = {}
    numbers = []
    for placement, key in zip(placements, keys, strict=True):
        name = group(placement)
        of_group = places.setdefault(name, {})
        numbers.append((share_of(name, folds) + of_group.setdefault(key, len(of_group))) % folds)
    return numbers


def _order(keys: Iterable[Hashable]) -> dict[Hashable, int]:
    return {key: number for number, key in enumerate(dict.fromkeys(keys))}


def _single_runs(placements: Sequence[Placement]) -> list[int]:
    of_model: dict[str, list[int]] = {}
    for row, placement in enumerate(placements):
        of_model.setdefault(placement.model, []).append(row)
    return [
        rows[share_of(model, len(rows))]
        for model, rows in of_model.items()
        if len({placements[row].device.key for row in rows}) > 1
    ]


def _cuts(placements: Sequence[Placement]) -> Iterator[_Flags]:
    extents = extents_of(placements)
    ends = np.array([extents[HIDDEN["range"](one)] for one in placements]).reshape(-1, 2)
    flops = np.array([one.counts.flops for one in placements])
    low, high = ends.T
    yield from ((low == high) | (flops <= cut * high) for cut in _CUTS)
