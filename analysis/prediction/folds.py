"""Folds of examples that hide what questions of a novelty do not know."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from analysis.prediction.examples.placements import Placement
from analysis.prediction.novelty import HIDDEN, Novelty, asked, extents_of, share_of
from analysis.statistics.arrays import Places, np

FOLDS = 5
_MOST_DEVICES = 12
"""Folds of devices, each of which is left out alone as long as there are no more."""
_CUTS = (1 / 4, 1 / 2)
"""The parts of the largest size of a series up to which its sizes are known."""

_Known = Callable[[Placement], bool]


@dataclass(frozen=True)
class Fold:
    """Examples that are hidden, and those that answer for them."""

    known: Places
    """Places of the examples that answer."""
    hidden: Places
    """Places of those whose novelty is the one that is tried."""
    groups: int
    """The number of models, devices or the like that are hidden together."""


def folds_of(placements: Sequence[Placement], novelty: Novelty) -> list[Fold]:
    """Folds that hide what a question of that novelty does not know."""
    folds = []
    for is_known in _rules(placements, novelty):
        known_or_not = np.array([is_known(placement) for placement in placements])
        known = np.flatnonzero(known_or_not)
        is_asked = asked([placements[row] for row in known.tolist()], novelty)
        hidden = [
            row for row in np.flatnonzero(~known_or_not).tolist() if is_asked(placements[row])
        ]
        if hidden:
            groups = len({HIDDEN[novelty](placements[row]) for row in hidden})
            folds.append(Fold(known, np.array(hidden), groups))
    return folds


def _rules(placements: Sequence[Placement], novelty: Novelty) -> Iterator[_Known]:
    """For each fold, whether an example is known in it."""
    if novelty == "range":
        yield from _cuts(placements)
        return
    devices = {placement.device.key for placement in placements}
    folds = min(_MOST_DEVICES, len(devices)) if novelty == "device" else FOLDS
    fold_of = _devices(placements) if novelty == "device" else _share
    single = _single_runs(placements) if novelty == "run" else {}
    for fold in range(folds):

        def is_known(one: Placement, fold: int = fold) -> bool:
            return fold_of(HIDDEN[novelty](one)) != fold or single.get(one.model) is one

        yield is_known


def _share(key: object) -> int:
    return share_of(key, FOLDS)


def _devices(placements: Sequence[Placement]) -> Callable[[object], int]:
    order = {key: n for n, key in enumerate(dict.fromkeys(p.device.key for p in placements))}
    return lambda key: order[str(key)] % _MOST_DEVICES


def _single_runs(placements: Sequence[Placement]) -> dict[str, Placement]:
    """One example of each model that was measured on several devices."""
    of_model: dict[str, list[Placement]] = {}
    for placement in placements:
        of_model.setdefault(placement.model, []).append(placement)
    return {
        model: several[share_of(model, len(several))]
        for model, several in of_model.items()
        if len({one.device.key for one in several}) > 1
    }


def _cuts(placements: Sequence[Placement]) -> Iterator[_Known]:
    """Sizes of a series up to a part of its largest."""
    extents = extents_of(placements)
    for cut in _CUTS:

        def is_known(one: Placement, cut: float = cut) -> bool:
            low, high = extents[HIDDEN["range"](one)]
            return low == high or one.counts.flops <= cut * high

        yield is_known
