"""The regression behind effects: its columns for given placements, and their coefficients."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from analysis.predict.effects import (
    GROUPS,
    SLOPE_PENALTY,
    EffectGroup,
    Effects,
    EffectSet,
    slope_places,
    standardised,
)
from analysis.predict.examples.placements import Placement
from analysis.predict.features import features
from analysis.statistics.arrays import Places, Values, ValueTable, np
from analysis.statistics.least_squares import damped_least_squares

if TYPE_CHECKING:
    from analysis.statistics.solvers import sparse

_ITERATIONS = 60
_CONSTANT = 1e-9
"""The deviation below which a number is the same everywhere."""


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
    """The number of each column's group."""

    def fit(self, rows: Places, y: Values) -> Values:
        """The coefficients from these rows and their values, in scaled columns."""
        return damped_least_squares(self.matrix[rows], y, _ITERATIONS)

    def contributions(self, rows: Places, coefficients: Values) -> ValueTable:
        """The part of each group at these rows; (rows, groups)."""
        from analysis.statistics.solvers import sparse

        columns = np.arange(len(coefficients))
        entries = (coefficients, (columns, self.groups))
        by_group = sparse.csr_matrix(entries, shape=(len(columns), len(GROUPS[self.chosen])))
        return np.asarray((self.matrix[rows] @ by_group).todense())

    def effects(self, coefficients: Values) -> Effects:
        """The same coefficients by group and value."""
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
    """The columns of a set for these placements."""
    raw = features(placements)
    known = np.where(np.isnan(raw).all(axis=0), 0.0, raw)
    means, scales = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    scales[scales < _CONSTANT] = 1.0
    builder = _Builder(standardised(raw, means, scales))
    for number, (name, group) in enumerate(GROUPS[chosen].items()):
        builder.add(number, name, group, placements)
    return builder.design(chosen, tuple(means.tolist()), tuple(scales.tolist()))


@dataclass
class _Builder:
    """Collects columns, group by group."""

    z: ValueTable
    rows: list[Places] = field(default_factory=list)
    places: list[Places] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    columns: list[tuple[str, Hashable, int]] = field(default_factory=list)
    scale: list[float] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)

    def add(
        self, number: int, name: str, group: EffectGroup, placements: Sequence[Placement]
    ) -> None:
        """Add the columns of a group: a level and slopes for each of its values."""
        of_each = [tuple(group.keys(placement)) for placement in placements]
        keys = {key: nth for nth, key in enumerate(dict.fromkeys(chain.from_iterable(of_each)))}
        rows = np.repeat(np.arange(len(of_each)), [len(one) for one in of_each])
        codes = np.array([keys[key] for key in chain.from_iterable(of_each)])
        slopes = slope_places(group)
        penalties = [group.penalty, *[group.penalty * SLOPE_PENALTY] * len(slopes)]
        factors = [1 / math.sqrt(penalty) for penalty in penalties]
        for nth, factor in enumerate(factors):
            values = self.z[rows, slopes[nth - 1]] if nth else np.ones(len(rows))
            self.rows.append(rows)
            self.places.append(len(self.columns) + codes * len(factors) + nth)
            self.values.append(values * factor)
        self.columns += [(name, key, nth) for key in keys for nth in range(len(factors))]
        self.scale += factors * len(keys)
        self.groups += [number] * (len(keys) * len(factors))

    def design(
        self, chosen: EffectSet, means: tuple[float, ...], scales: tuple[float, ...]
    ) -> Design:
        """All columns that were added."""
        from analysis.statistics.solvers import sparse

        indices = (np.concatenate(self.rows), np.concatenate(self.places))
        shape = (len(self.z), len(self.columns))
        matrix = sparse.csr_matrix((np.concatenate(self.values), indices), shape=shape)
        columns, groups = tuple(self.columns), np.array(self.groups)
        return Design(chosen, matrix, columns, np.array(self.scale), means, scales, groups)
