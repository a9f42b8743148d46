"""Ridge regression with an effect for each value of each group, e.g. for each device and model.

It is the mixed model of Henderson (1975, Biometrics 31) with variances that are set: an effect is
drawn towards 0 the more, the fewer examples tell it.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias

from analysis.predict.examples.placements import Pairs, Placement, words_of
from analysis.predict.features import FEATURES, features
from analysis.statistics.arrays import Places, Values, ValueTable, np

if TYPE_CHECKING:
    from analysis.statistics.solvers import sparse

SLOPE_PENALTY = 4.0
"""The factor by which a slope is drawn to 0 more than a level."""
_SIZES = ("batch size", "length")
_OF_DEVICE = ("device", "configuration", "architecture on device", "model on device", "series")
_OF_SIZES: Mapping[str, tuple[str, ...]] = {
    "configuration": ("batch size",),
    "architecture on device": (),
    "model": (),
    "model by path": (),
    "series": (),
}
"""The groups that tell other sizes of a known model, each with the numbers it depends on."""
EffectSet: TypeAlias = Literal["sizes", "whole", "configuration", "transfer"]
_ITERATIONS = 60
_CONSTANT = 1e-9
"""The deviation below which a number is the same everywhere."""


@dataclass(frozen=True)
class EffectGroup:
    """A property that placements may have in common."""

    keys: Callable[[Placement], Iterable[Hashable]]
    penalty: float = 1.0
    """The examples at which an effect is half of what they say."""
    slopes: tuple[str, ...] = ()


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
_WHOLE: Mapping[str, EffectGroup] = {
    "all": EffectGroup(lambda _: ("",), 0.1, tuple(FEATURES)),
    "kind": EffectGroup(lambda p: (p.device.kind,), 0.5, tuple(FEATURES)),
    **_OF_CONFIGURATION,
    **_OF_MODEL,
}
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
    scales: tuple[float, ...]

    def contributions(self, placements: Sequence[Placement]) -> ValueTable:
        """The part of each group of the set at each placement; (n, groups)."""
        z = standardised(features(placements), self.means, self.scales)
        alike: dict[tuple[object, ...], int] = {}
        same = [
            alike.setdefault((one.model, one.architecture, *one.configuration), len(alike))
            for one in placements
        ]
        kinds = dict(zip(same, placements, strict=True))
        chosen = [kinds[number] for number in range(len(alike))]
        columns = []
        for name, group in GROUPS[self.chosen].items():
            factors = np.column_stack([np.ones(len(z)), z[:, slope_places(group)]])
            columns.append((_levels(chosen, group, self.levels[name])[same] * factors).sum(axis=1))
        return np.column_stack(columns)


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


def standardised(values: ValueTable, means: Sequence[float], scales: Sequence[float]) -> ValueTable:
    """Numbers about their means, by their scales; 0 where there is none."""
    return np.asarray(np.nan_to_num((values - np.array(means)) / np.array(scales), nan=0.0))


def slope_places(group: EffectGroup) -> list[int]:
    names = list(FEATURES)
    return [names.index(name) for name in group.slopes]


@dataclass(frozen=True)
class Design:
    """The columns of the regression for given placements: one for each level and slope."""

    chosen: EffectSet
    matrix: "sparse.csr_matrix"
    """Scaled by the penalties; (n, columns)."""
    columns: tuple[tuple[str, Hashable, int], ...]
    """Group, value, and 0 for the level or the number of the slope."""
    scale: Values
    means: tuple[float, ...]
    scales: tuple[float, ...]
    groups: Values

    def fit(self, rows: Places, y: Values) -> Values:
        from analysis.statistics.solvers import damped_least_squares

        return damped_least_squares(self.matrix[rows], y, _ITERATIONS)

    def contributions(self, rows: Places, coefficients: Values) -> ValueTable:
        """The part of each group at these rows; (rows, groups)."""
        from analysis.statistics.solvers import sparse

        columns = np.arange(len(coefficients))
        entries = (coefficients, (columns, self.groups))
        by_group = sparse.csr_matrix(entries, shape=(len(columns), len(GROUPS[self.chosen])))
        return np.asarray((self.matrix[rows] @ by_group).todense())

    def effects(self, coefficients: Values) -> Effects:
        levels: dict[str, dict[Hashable, list[float]]] = {name: {} for name in GROUPS[self.chosen]}
        for (name, key, _), value in zip(self.columns, coefficients * self.scale, strict=True):
            levels[name].setdefault(key, []).append(float(value))
        return Effects(
            self.chosen,
            {name: {key: tuple(v) for key, v in of.items()} for name, of in levels.items()},
            self.means,
            self.scales,
        )


def design_of(placements: Sequence[Placement], chosen: EffectSet) -> Design:
    """The columns of a set for these placements: a level and slopes for each value of a group."""
    from analysis.statistics.solvers import sparse

    raw = features(placements)
    known = np.where(np.isnan(raw).all(axis=0), 0.0, raw)
    means, scales = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    scales[scales < _CONSTANT] = 1.0
    z = standardised(raw, means, scales)
    rows, places, values = list[Places](), list[Places](), list[Values]()
    columns, scale, groups = list[tuple[str, Hashable, int]](), list[float](), list[int]()
    for number, (name, group) in enumerate(GROUPS[chosen].items()):
        of_each = [tuple(group.keys(placement)) for placement in placements]
        keys = {key: nth for nth, key in enumerate(dict.fromkeys(chain.from_iterable(of_each)))}
        own = np.repeat(np.arange(len(of_each)), [len(one) for one in of_each])
        codes = np.array([keys[key] for key in chain.from_iterable(of_each)])
        slopes = slope_places(group)
        penalties = [group.penalty, *[group.penalty * SLOPE_PENALTY] * len(slopes)]
        factors = [1 / math.sqrt(penalty) for penalty in penalties]
        for nth, factor in enumerate(factors):
            rows.append(own)
            places.append(len(columns) + codes * len(factors) + nth)
            values.append((z[own, slopes[nth - 1]] if nth else np.ones(len(own))) * factor)
        columns += [(name, key, nth) for key in keys for nth in range(len(factors))]
        scale += factors * len(keys)
        groups += [number] * (len(keys) * len(factors))
    indices = (np.concatenate(rows), np.concatenate(places))
    matrix = sparse.csr_matrix((np.concatenate(values), indices), shape=(len(z), len(columns)))
    return Design(
        *(chosen, matrix, tuple(columns), np.array(scale)),
        *(tuple(means.tolist()), tuple(scales.tolist()), np.array(groups)),
    )
