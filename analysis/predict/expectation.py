"""Expected values of placements by physics and effects, before trees correct them.

Physics is what counted work takes at a device's peaks: the roofline of Williams, Waterman and
Patterson (2009) with a sum in the place of the maximum, since layers overlap little. The speed of a
device is a weighted geometric mean of its peaks: decision 0031 has what else was tried.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from analysis.predict.effects import GROUPS, Design, Effects, EffectSet, design_of
from analysis.predict.examples.placements import Placement, Quantity
from analysis.predict.folds import Fold
from analysis.predict.novelty import Novelty
from analysis.statistics.arrays import Places, Values, ValueTable, np

BALANCE = 40.0
"""FLOP for each byte of a device at which terms are what they are on that device's own roofline."""
_ARITHMETIC_SHARE = 0.38
"""The weight of arithmetic in the speed of a device; the rest is memory's."""
LEAST_OF_PART = 30
LEAST_SIZES = 8
_LEAST_SHARE = 1e-3
"""The least part of the base that a term has where examples have it: none of these is zero."""
_EFFECTS_OF: dict[Novelty, EffectSet] = {
    "shape": "sizes",
    "range": "sizes",
    "family": "configuration",
    "device": "transfer",
}


@dataclass(frozen=True)
class PhysicalTerms:
    """The terms of the base at placements, and the parts whose coefficients these have."""

    quantity: Quantity
    values: ValueTable
    """Seconds at the peaks, or bytes; (n, k)."""
    kinds: tuple[tuple[str, str], ...]
    kind: Places

    def at(self, rows: Places) -> "PhysicalTerms":
        return replace(self, values=self.values[rows], kind=self.kind[rows])

    def parts(self, fineness: int) -> Iterator[tuple[str, Places]]:
        places: dict[str, list[int]] = {}
        for row, kind in enumerate(self.kind.tolist()):
            places.setdefault(self.kinds[kind][fineness], []).append(row)
        for name, rows in places.items():
            if len(rows) >= LEAST_OF_PART:
                yield name, np.array(rows)


@dataclass(frozen=True)
class PhysicalBase:
    """A sum of physical terms, with coefficients for each part of the placements."""

    quantity: Quantity
    coefficients: Mapping[str, tuple[float, ...]]
    """By part; under the empty name those of all placements."""

    def logarithms(self, terms: PhysicalTerms) -> Values:
        """The logarithm of the base where it has these terms; (n,)."""
        known = self.coefficients
        factors = np.array(
            [next(known[part] for part in (*parts, "") if part in known) for parts in terms.kinds]
        )
        return np.asarray(np.log((terms.values * factors[terms.kind]).sum(axis=1)))


def fit_base(terms: PhysicalTerms, values: Values, *, finely: bool = False) -> PhysicalBase:
    """Fit the coefficients to relative errors, by least squares that never are negative.

    With `finely` each architecture has coefficients of its own in each configuration that was
    measured at several sizes. Large sizes count most there, as they tell what still larger ones
    take.
    """
    relative = terms.values / values[:, None]
    alike = np.ones(len(values))
    coefficients = {"": _fitted(relative, alike)}
    for part, rows in terms.parts(1):
        coefficients[part] = _fitted(relative[rows], alike[rows])
    if finely:
        sizes = (terms.values * np.array(coefficients[""])).sum(axis=1)
        for part, rows in terms.parts(0):
            if len(np.unique(sizes[rows])) >= LEAST_SIZES:
                coefficients[part] = _fitted(relative[rows], sizes[rows] / sizes[rows].max())
    return PhysicalBase(terms.quantity, coefficients)


def physical_terms(placements: Sequence[Placement], quantity: Quantity) -> PhysicalTerms:
    kinds: dict[tuple[str, str], int] = {}
    kind, values = [], []
    for one in placements:
        fine = "/".join((one.architecture, *one.configuration))
        # Devices of a kind take similar shares of their peaks; a runtime keeps what it keeps.
        around = one.device.kind if quantity != "memory" else "/".join((*one.path, one.mode))
        kind.append(kinds.setdefault((fine, around), len(kinds)))
        values.append(_sizes(one) if quantity == "memory" else _times(one))
    return PhysicalTerms(quantity, np.array(values), tuple(kinds), np.array(kind))


def _fitted(relative: ValueTable, weights: Values) -> tuple[float, ...]:
    from analysis.statistics.solvers import nnls

    means = relative.mean(axis=0)
    scale = np.where(means == 0, 1.0, means)
    solution, _ = nnls(relative / scale * weights[:, None], weights)
    least = _LEAST_SHARE * solution.sum()
    coefficients = np.where(means == 0, 0.0, np.maximum(solution, least) / scale)
    return tuple(float(one) for one in coefficients)


def _times(placement: Placement) -> tuple[float, ...]:
    counts, device = placement.counts, placement.device
    speed = device.flops_per_s**_ARITHMETIC_SHARE * device.bytes_per_s ** (1 - _ARITHMETIC_SHARE)
    return (
        counts.flops / BALANCE ** (1 - _ARITHMETIC_SHARE) / speed,
        counts.traffic_bytes * BALANCE**_ARITHMETIC_SHARE / speed,
        2 * counts.activation_bytes * BALANCE**_ARITHMETIC_SHARE / speed,
        1.0,
        counts.depth or 0.0,
    )


def _sizes(placement: Placement) -> tuple[float, ...]:
    """Values between layers are freed, so that a layer's share lies in memory at once."""
    counts = placement.counts
    layer = counts.activation_bytes / max(counts.depth or 1.0, 1.0)
    return (1.0, counts.weight_bytes, counts.activation_bytes, layer)


def effect_set(novelty: Novelty) -> EffectSet:
    return _EFFECTS_OF.get(novelty, "whole")


@dataclass(frozen=True)
class ExpectedValues:
    """Expected values at placements, as logarithms."""

    base: Values
    contributions: ValueTable
    """The part of each group of effects; (n, groups)."""

    @property
    def logarithms(self) -> Values:
        return np.asarray(self.base + self.contributions.sum(axis=1))


@dataclass(frozen=True)
class Expectation:
    """A base by physics, and the effects that were fitted to what it leaves."""

    base: PhysicalBase
    effects: Effects

    def at(self, placements: Sequence[Placement]) -> ExpectedValues:
        base = self.base.logarithms(physical_terms(placements, self.base.quantity))
        return ExpectedValues(base, self.effects.contributions(placements))


@dataclass(frozen=True)
class ExpectationFit:
    """Fits expectations to examples, or to all of them but a fold."""

    placements: Sequence[Placement]
    amounts: Values
    terms: PhysicalTerms
    design: Design

    @cached_property
    def logarithms(self) -> Values:
        return np.log(self.amounts)

    def whole(self) -> Expectation:
        rows = np.arange(len(self.amounts))
        base, left = self._left(rows)
        return Expectation(base, self.design.effects(self.design.fit(rows, left)))

    def hidden(self, fold: Fold) -> ExpectedValues:
        base, left = self._left(fold.known)
        coefficients = self.design.fit(fold.known, left)
        contributions = self.design.contributions(fold.hidden, coefficients)
        return ExpectedValues(base.logarithms(self.terms.at(fold.hidden)), contributions)

    def part(self, rows: Places) -> Self:
        known = [self.placements[row] for row in rows.tolist()]
        design = design_of(known, self.design.chosen)
        return type(self)(known, self.amounts[rows], self.terms.at(rows), design)

    def _left(self, rows: Places) -> tuple[PhysicalBase, Values]:
        """The base that these examples tell, and the logarithms of what it leaves of them."""
        terms = self.terms.at(rows)
        base = fit_base(terms, self.amounts[rows], finely=self.design.chosen == "sizes")
        return base, self.logarithms[rows] - base.logarithms(terms)


def expectation_fits(
    placements: Sequence[Placement],
    amounts: Values,
    quantity: Quantity,
    sets: Iterable[EffectSet] = tuple(GROUPS),
) -> dict[EffectSet, ExpectationFit]:
    terms = physical_terms(placements, quantity)
    return {
        name: ExpectationFit(placements, amounts, terms, design_of(placements, name))
        for name in sets
    }
