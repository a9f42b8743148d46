"""Novelty of a question: how much of it was measured, which decides the errors of its answer."""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

from analysis.predict.examples.placements import Pairs, Placement, PlainKey, line_of

Novelty: TypeAlias = Literal[
    "shape", "range", "variant", "pair", "run", "model", "line", "family", "device"
]
"""The part of a question that was measured.

`shape`: the model in this configuration, at smaller and larger sizes. `range`: likewise, but at
smaller sizes alone. `variant`: the model on this device with another runtime, precision, mode or
version, or at larger sizes alone, which tell little of calls that take the time of small ones.
`pair`: the model on other devices. `run`: it was measured once, on another device.
`model`: others of its line, whose names begin alike. `line`: others of its architecture. `family`:
the device alone. `device`: nothing on the device.
"""
NOVELTIES: tuple[Novelty, ...] = get_args(Novelty)
ANSWERED_BY: Mapping[Novelty, Novelty] = {"line": "model"}
"""Novelties without trees of their own, with the one whose trees answer them."""
INTERVALS_BY: Mapping[Novelty, Novelty] = {"line": "family"}
"""Novelties whose intervals are those of another: names that begin alike may promise more than is
true."""
POOLED_WITH: Mapping[Novelty, Novelty] = {"model": "family"}
"""Novelties whose intervals are drawn towards those of another where few siblings are known."""
TRAINED: tuple[Novelty, ...] = tuple(name for name in NOVELTIES if name not in ANSWERED_BY)
HIDDEN: Mapping[Novelty, Callable[[Placement], Hashable]] = {
    "shape": lambda p: (p.model, p.configuration, p.batch_size, p.length, p.new_tokens, p.threads),
    "range": lambda p: (p.model, p.configuration),
    "variant": lambda p: (p.model, p.configuration),
    "pair": lambda p: (p.model, p.device.key),
    "run": lambda p: p.architecture,
    "model": lambda p: p.model,
    "line": lambda p: (p.architecture, line_of(p.model)),
    "family": lambda p: p.architecture,
    "device": lambda p: p.device.key,
}
"""The key of the placements that are hidden together, to try questions of that novelty."""
ALIKE: Mapping[Novelty, Callable[[Placement], Hashable]] = {**HIDDEN, "run": HIDDEN["model"]}
"""The key of the placements whose errors are alike: those that are hidden together, but for single
runs, each of which tells the level of its own model."""
_USUAL_PART = 4.0
"""Trees count whole on a device with a fourth of the examples that devices have on average."""
_EFFECTS_OF_DEVICE = 4.0
"""Numbers that tell a device from others: a level, and how it depends on the work."""
AUTOCAST: Mapping[str, str] = {"fp16": "amp", "bf16": "amp_bf16"}
_UNSEEN: frozenset[Novelty] = frozenset({"model", "line", "family"})
_SPARSE = 1.1
"""The factor of an interval's width from which on a device has few models."""
_BEYOND = 1.02
"""The factor from which on a size lies beyond another."""


@dataclass(frozen=True)
class Seen:
    """Devices, models and sizes that examples tell something about."""

    devices: Mapping[str, int]
    extents: Pairs[Hashable, tuple[float, float]]
    """The least and the most arithmetic of each model in each configuration, FLOP."""
    pairs: frozenset[PlainKey]
    models: frozenset[str]
    once: frozenset[str]
    lines: Pairs[Hashable, int]
    architectures: frozenset[str]

    def novelty(self, placement: Placement) -> Novelty:
        if placement.device.key not in self.devices:
            return "device"
        extent = self.extents.get(HIDDEN["range"](placement))
        if extent is not None:
            low, high = extent[0] / _BEYOND, extent[1] * _BEYOND
            if placement.counts.flops >= low:
                return "shape" if placement.counts.flops <= high else "range"
        if HIDDEN["pair"](placement) in self.pairs:
            return "variant"
        if placement.model in self.models:
            return "run" if placement.model in self.once else "pair"
        if HIDDEN["line"](placement) in self.lines:
            return "model"
        return "line" if placement.architecture in self.architectures else "family"

    def autocast_for(self, placement: Placement) -> str | None:
        """The measured precision of autocast whose examples stand in for an unmeasured one."""
        autocast = AUTOCAST.get(placement.precision)
        if autocast is None or (*placement.path, placement.precision) in self._measured_ways:
            return None
        return autocast if (*placement.path, autocast) in self._measured_ways else None

    def trees_share(self, device: str) -> float:
        """The trees' share of an answer: less on a device whose few examples taught them little."""
        usual = sum(self.devices.values()) / len(self.devices)
        return min(1.0, _USUAL_PART * self.devices.get(device, 0) / usual)

    def widening(self, device: str) -> float:
        """The factor of an interval's width where fewer models than usual are known on a device.

        The variance of what a regression predicts grows by the number of its coefficients divided
        by that of examples; errors are calibrated on all devices.
        """
        models = self._models_by_device
        if device not in models:
            return 1.0
        usual = sum(models.values()) / len(models)
        return max(1.0, math.sqrt(_variance(models[device]) / _variance(usual)))

    def sparse_words(self, placement: Placement, novelty: Novelty) -> tuple[str, ...]:
        """A sentence on an unseen model on a device with few: no errors are calibrated on both."""
        device = placement.device.key
        if novelty not in _UNSEEN or device not in self._sparse:
            return ()
        models = self._models_by_device[device]
        return (f"the model was measured nowhere, and only {models} others on this device",)

    @cached_property
    def _sparse(self) -> frozenset[str]:
        return frozenset(one for one in self.devices if self.widening(one) >= _SPARSE)

    @cached_property
    def _measured_ways(self) -> frozenset[tuple[Hashable, ...]]:
        keys = (key for key in self.extents if isinstance(key, tuple))
        return frozenset(configuration[1:4] for _, configuration in keys)

    @cached_property
    def _models_by_device(self) -> Mapping[str, int]:
        return Counter(key[1] for key in self.pairs if isinstance(key, tuple))


def _variance(models: float) -> float:
    """The variance of a prediction on a device of so many models, by that of one of many."""
    return 1 + _EFFECTS_OF_DEVICE / models


def trained_for(novelties: Iterable[Novelty]) -> list[Novelty]:
    """The novelties whose trees answer questions of these, in their order."""
    tables = (ANSWERED_BY, INTERVALS_BY, POOLED_WITH)
    asked_of = {table.get(name, name) for name in novelties for table in tables}
    return [name for name in TRAINED if name in asked_of]


def seen_in(placements: Iterable[Placement]) -> Seen:
    known = list(placements)
    models = Counter(one.model for one in known)
    return Seen(
        devices=Counter(one.device.key for one in known),
        extents=extents_of(known),
        pairs=frozenset(HIDDEN["pair"](one) for one in known),
        models=frozenset(models),
        once=frozenset(model for model, count in models.items() if count == 1),
        lines=lines_of(known),
        architectures=frozenset(one.architecture for one in known),
    )


def lines_of(placements: Iterable[Placement]) -> Mapping[Hashable, int]:
    models = {(one.architecture, one.model) for one in placements}
    return Counter((architecture, line_of(model)) for architecture, model in models)


def extents_of(placements: Iterable[Placement]) -> dict[Hashable, tuple[float, float]]:
    flops: dict[Hashable, list[float]] = {}
    for placement in placements:
        flops.setdefault(HIDDEN["range"](placement), []).append(placement.counts.flops)
    return {key: (min(values), max(values)) for key, values in flops.items()}


def asked(known: Sequence[Placement], novelty: Novelty) -> Callable[[Placement], bool]:
    """Tell whether a placement has that novelty, on a kind of device that was measured."""
    seen, kinds = seen_in(known), {placement.device.kind for placement in known}
    return lambda one: one.device.kind in kinds and seen.novelty(one) == novelty


def share_of(key: Hashable, shares: int) -> int:
    """The one of so many equal shares that a key falls into, always the same."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:4], "big") % shares


@dataclass(frozen=True)
class NoveltyWords:
    """The names of a novelty on screens and in charts."""

    measured: str
    hidden: str
    """The results that are hidden together, to try such questions."""
    groups: str
    untried: str
    """The reason why no such question can be tried."""


NAMED_NOVELTIES: Mapping[Novelty, NoveltyWords] = {
    "shape": NoveltyWords(
        "seen at other sizes", "sizes hidden", "sizes", "no model was measured at enough sizes"
    ),
    "range": NoveltyWords(
        "seen at smaller sizes",
        "the largest and smallest sizes hidden",
        "models at other sizes",
        "no model was measured at sizes far enough apart",
    ),
    "variant": NoveltyWords(
        "seen in other variants",
        "runtimes, precisions and modes hidden",
        "variants",
        "no model was measured on one device in several variants",
    ),
    "pair": NoveltyWords(
        "seen elsewhere",
        "models hidden on a device",
        "models on other devices",
        "no model was measured on two devices",
    ),
    "run": NoveltyWords(
        "seen once, elsewhere",
        "all of a model but one run hidden",
        "architectures",
        "no model was measured on two devices",
    ),
    "model": NoveltyWords("unseen model", "models hidden", "models", "no two models share a line"),
    "line": NoveltyWords(
        "unseen line of models",
        "lines of models hidden",
        "architectures",
        "no architecture has two lines of models",
    ),
    "family": NoveltyWords(
        "unseen family",
        "architectures hidden",
        "architectures",
        "too few architectures were measured",
    ),
    "device": NoveltyWords(
        "unseen device", "devices hidden", "devices", "there is no second device of a kind"
    ),
}
"""`seen in other variants` is a model that was measured on this device with another runtime,
precision, mode or version."""
