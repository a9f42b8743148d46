"""How much of a question was measured before: what decides which errors its answer may have."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from analysis.prediction.placements import Placement
from analysis.statistics.arrays import Places, np

Novelty: TypeAlias = Literal["shape", "variant", "pair", "model", "family", "device"]
HIDDEN: Mapping[Novelty, Callable[[Placement], Hashable]] = {
    "shape": lambda p: (p.model, p.configuration, p.batch_size, p.length, p.new_tokens, p.threads),
    "variant": lambda p: (p.model, p.configuration),
    "pair": lambda p: (p.model, p.device.key),
    "model": lambda p: p.model,
    "family": lambda p: p.architecture,
    "device": lambda p: p.device.key,
}
"""What is hidden together, to see how well a question of that novelty is answered.

`shape`: the model was measured in this configuration at other sizes. `variant`: on this device with
another runtime, precision, mode or version. `pair`: on other devices. `model`: not at all, but
others of its architecture. `family`: none of these either. `device`: nothing was measured there.
"""
NOVELTIES: tuple[Novelty, ...] = get_args(Novelty)
"""From what is known best to what is known least."""
FOLDS = 5


@dataclass(frozen=True)
class Seen:
    """What examples tell something about."""

    devices: frozenset[str]
    series: frozenset[Hashable]
    pairs: frozenset[Hashable]
    models: frozenset[str]
    architectures: frozenset[str]

    def novelty(self, placement: Placement) -> Novelty:
        """What of this placement was measured."""
        if placement.device.key not in self.devices:
            return "device"
        if HIDDEN["variant"](placement) in self.series:
            return "shape"
        if HIDDEN["pair"](placement) in self.pairs:
            return "variant"
        if placement.model in self.models:
            return "pair"
        return "model" if placement.architecture in self.architectures else "family"


def seen_in(placements: Iterable[Placement]) -> Seen:
    """What these placements tell something about."""
    known = list(placements)
    return Seen(
        devices=frozenset(one.device.key for one in known),
        series=frozenset(HIDDEN["variant"](one) for one in known),
        pairs=frozenset(HIDDEN["pair"](one) for one in known),
        models=frozenset(one.model for one in known),
        architectures=frozenset(one.architecture for one in known),
    )


@dataclass(frozen=True)
class Fold:
    """Examples that are hidden, and those that answer for them."""

    known: Places
    """Places of the examples that answer."""
    hidden: Places
    """Places of those whose novelty is the one that is tried."""
    groups: int
    """What is hidden together, such as models or devices."""


def folds_of(placements: Sequence[Placement], novelty: Novelty) -> list[Fold]:
    """Folds that hide what a question of that novelty does not know."""
    keys = [HIDDEN[novelty](placement) for placement in placements]
    number = _leave_one_out(keys) if novelty == "device" else [_fold(key) for key in keys]
    numbers = np.array(number)
    folds = []
    for fold in np.unique(numbers):
        known, hidden = np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)
        asked = _asked([placements[row] for row in known.tolist()], novelty)
        chosen = [row for row in hidden.tolist() if asked(placements[row])]
        if chosen:
            folds.append(Fold(known, np.array(chosen), len({keys[row] for row in chosen})))
    return folds


def _asked(known: Sequence[Placement], novelty: Novelty) -> Callable[[Placement], bool]:
    """Tell whether a placement has that novelty, on a kind of device that was measured."""
    seen, kinds = seen_in(known), {placement.device.kind for placement in known}
    return lambda one: one.device.kind in kinds and seen.novelty(one) == novelty


def _leave_one_out(keys: Sequence[Hashable]) -> list[int]:
    order = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return [order[key] % 12 for key in keys]


def _fold(key: Hashable) -> int:
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:4], "big") % FOLDS
