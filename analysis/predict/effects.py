"""Ridge regression with an effect for each value of each group, e.g. for each device and model.

It is the mixed model of Henderson (1975, "Best linear unbiased estimation and prediction under a
selection model", Biometrics 31) with variances that are set and not estimated: an effect is drawn
towards 0 the more, the fewer examples tell it, and one that nobody has seen is 0.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from analysis.predict.examples.keys import Pairs
from analysis.predict.examples.names import words_of
from analysis.predict.examples.placements import Placement
from analysis.predict.features import FEATURES, features
from analysis.statistics.arrays import ValueTable, np

SLOPE_PENALTY = 4.0
"""The factor by which a slope is drawn to 0 more than a level."""


@dataclass(frozen=True)
class EffectGroup:
    """A property that placements may have in common."""

    keys: Callable[[Placement], Iterable[Hashable]]
    """The values that a placement has in it; most have one."""
    penalty: float = 1.0
    """The examples at which an effect is half of what they say."""
    slopes: tuple[str, ...] = ()
    """Numbers on which the effect of a value depends."""


_SIZES = ("batch size", "length")
_OF_CONFIGURATION: Mapping[str, EffectGroup] = {
    "device": EffectGroup(lambda p: (p.device.key,), 0.1, ("intensity", "batch size")),
    "path": EffectGroup(lambda p: (p.path,), 1.0, ("intensity", "arithmetic")),
    "precision": EffectGroup(lambda p: (p.precision,), 1.0, ("intensity",)),
    "mode": EffectGroup(lambda p: (p.mode,), 1.0, ("intensity",)),
    "software": EffectGroup(lambda p: ((*p.path, p.software),), 1.0, ("intensity",)),
    "configuration": EffectGroup(
        lambda p: (p.configuration,), 0.3, ("intensity", "arithmetic of a sample", "batch size")
    ),
}
_OF_MODEL: Mapping[str, EffectGroup] = {
    "architecture": EffectGroup(lambda p: (p.architecture,), 0.2, ("arithmetic of a sample",)),
    "architecture by kind": EffectGroup(lambda p: ((p.architecture, p.device.kind),), 0.2),
    "architecture by path": EffectGroup(lambda p: ((p.architecture, p.path, p.precision),), 0.2),
    "architecture by software": EffectGroup(lambda p: ((p.architecture, p.path, p.software),), 0.2),
    "architecture on device": EffectGroup(lambda p: ((p.architecture, p.device.key),), 0.2),
    "word": EffectGroup(lambda p: words_of(p.model), 6.0),
    "word by kind": EffectGroup(lambda p: [(w, p.device.kind) for w in words_of(p.model)], 6.0),
    "model": EffectGroup(lambda p: (p.model,), 0.3),
    "model by kind": EffectGroup(lambda p: ((p.model, p.device.kind),), 0.6),
    "model by path": EffectGroup(lambda p: ((p.model, p.path, p.precision),), 1.0),
    "model by software": EffectGroup(lambda p: ((p.model, p.path, p.software),), 1.5),
    "model on device": EffectGroup(lambda p: ((p.model, p.device.key),), 1.0),
    "series": EffectGroup(lambda p: ((p.model, p.configuration),), 1.0, _SIZES),
}
_OF_DEVICE = ("device", "configuration", "architecture on device", "model on device", "series")
_OF_SIZES: Mapping[str, tuple[str, ...]] = {
    "configuration": ("batch size",),
    "architecture on device": (),
    "model": (),
    "model by path": (),
    "series": (),
}
"""The groups that tell other sizes of a known model, each with the numbers it depends on."""
_WHOLE: Mapping[str, EffectGroup] = {
    "all": EffectGroup(lambda _: ("",), 0.1, tuple(FEATURES)),
    "kind": EffectGroup(lambda p: (p.device.kind,), 0.5, tuple(FEATURES)),
    **_OF_CONFIGURATION,
    **_OF_MODEL,
}
EffectSet: TypeAlias = Literal["sizes", "whole", "configuration", "transfer"]
GROUPS: Mapping[EffectSet, Mapping[str, EffectGroup]] = {
    "sizes": {name: replace(_WHOLE[name], slopes=slopes) for name, slopes in _OF_SIZES.items()},
    "whole": _WHOLE,
    "configuration": {name: replace(group, slopes=()) for name, group in _OF_CONFIGURATION.items()},
    "transfer": {name: group for name, group in _WHOLE.items() if name not in _OF_DEVICE},
}
"""The groups of each set, by their names in explanations.

`sizes`: what a model has in a configuration, for other sizes of it. `whole`: from what all share to
what one model has on one device. `configuration`: what models have no part in, for architectures
that nobody measured. `transfer`: what no single device has a part in, for devices that nobody
measured."""


@dataclass(frozen=True)
class Effects:
    """Fitted effects of a set."""

    chosen: EffectSet
    levels: Mapping[str, Pairs[Hashable, tuple[float, ...]]]
    """By group and value: the level, then the slopes."""
    means: tuple[float, ...]
    """The mean of each number over the examples."""
    scales: tuple[float, ...]
    """Its standard deviation."""

    def contributions(self, placements: Sequence[Placement]) -> ValueTable:
        """The part of each group of the set at each placement; (n, groups).

        Placements that differ in sizes alone have the same effects, which are looked up once.
        """
        z = standardised(features(placements), self.means, self.scales)
        alike: dict[tuple[object, ...], int] = {}
        same = [alike.setdefault(_of_effects(one), len(alike)) for one in placements]
        kinds = dict(zip(same, placements, strict=True))
        chosen = [kinds[number] for number in range(len(alike))]
        columns = [
            (_levels(chosen, group, self.levels[name])[same] * _columns(group, z)).sum(axis=1)
            for name, group in GROUPS[self.chosen].items()
        ]
        return np.column_stack(columns)


def _of_effects(placement: Placement) -> tuple[object, ...]:
    """All of a placement that decides about its values in groups."""
    return (placement.model, placement.architecture, *placement.configuration)


def _levels(
    placements: Sequence[Placement],
    group: EffectGroup,
    levels: Mapping[Hashable, tuple[float, ...]],
) -> ValueTable:
    """The sums of levels and slopes of all values of a group; (n, 1 + slopes)."""
    unseen = (0.0,) * (1 + len(group.slopes))
    keys = [tuple(group.keys(placement)) for placement in placements]
    total = np.zeros((len(placements), len(unseen)))
    for nth in range(max(map(len, keys), default=0)):
        rows = [levels.get(one[nth], unseen) if nth < len(one) else unseen for one in keys]
        total += np.array(rows)
    return total


def _columns(group: EffectGroup, z: ValueTable) -> ValueTable:
    """The factors of levels and slopes; (n, 1 + slopes)."""
    return np.column_stack([np.ones(len(z)), z[:, slope_places(group)]])


def standardised(values: ValueTable, means: Sequence[float], scales: Sequence[float]) -> ValueTable:
    """Numbers about their means, by their scales; 0 where there is none."""
    return np.asarray(np.nan_to_num((values - np.array(means)) / np.array(scales), nan=0.0))


def slope_places(group: EffectGroup) -> list[int]:
    """The columns of the numbers on which its effects depend."""
    names = list(FEATURES)
    return [names.index(name) for name in group.slopes]
