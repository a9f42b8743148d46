"""Expected values of placements by physics and effects, before trees correct them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from analysis.predict.effects import GROUPS, Effects, EffectSet
from analysis.predict.examples.placements import Placement
from analysis.predict.examples.targets import Quantity
from analysis.predict.folds import Fold
from analysis.predict.novelty import Novelty
from analysis.predict.physics import PhysicalBase, PhysicalTerms, fit_base, physical_terms
from analysis.predict.regression import Design, design_of
from analysis.statistics.arrays import Places, Values, ValueTable, np

_EFFECTS_OF: dict[Novelty, EffectSet] = {
    "shape": "sizes",
    "range": "sizes",
    "family": "configuration",
    "device": "transfer",
}


def effect_set(novelty: Novelty) -> EffectSet:
    """The effects that answer questions of that novelty."""
    return _EFFECTS_OF.get(novelty, "whole")


@dataclass(frozen=True)
class ExpectedValues:
    """Expected values at placements, as logarithms."""

    base: Values
    """By physics; (n,)."""
    contributions: ValueTable
    """The part of each group of effects; (n, groups)."""

    @property
    def logarithms(self) -> Values:
        """Both together; (n,)."""
        return np.asarray(self.base + self.contributions.sum(axis=1))


@dataclass(frozen=True)
class Expectation:
    """A base by physics, and the effects that were fitted to what it leaves."""

    base: PhysicalBase
    effects: Effects

    def at(self, placements: Sequence[Placement]) -> ExpectedValues:
        """The expected values at these placements."""
        base = self.base.logarithms(physical_terms(placements, self.base.quantity))
        return ExpectedValues(base, self.effects.contributions(placements))


@dataclass(frozen=True)
class ExpectationFit:
    """Fits expectations to examples, or to all of them but a fold."""

    placements: Sequence[Placement]
    amounts: Values
    """The measured value at each; (n,)."""
    terms: PhysicalTerms
    design: Design

    @cached_property
    def logarithms(self) -> Values:
        """The logarithms of what was measured; (n,)."""
        return np.log(self.amounts)

    def whole(self) -> Expectation:
        """The expectation that all examples tell."""
        rows = np.arange(len(self.amounts))
        base, left = self._left(rows)
        return Expectation(base, self.design.effects(self.design.fit(rows, left)))

    def hidden(self, fold: Fold) -> ExpectedValues:
        """The expected values of the hidden examples of a fold, by the known ones."""
        base, left = self._left(fold.known)
        coefficients = self.design.fit(fold.known, left)
        contributions = self.design.contributions(fold.hidden, coefficients)
        return ExpectedValues(base.logarithms(self.terms.at(fold.hidden)), contributions)

    def part(self, rows: Places) -> Self:
        """The same fit to these examples alone."""
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
    """A fit with each set of effects to these examples; (n,) and (n,)."""
    terms = physical_terms(placements, quantity)
    return {
        name: ExpectationFit(placements, amounts, terms, design_of(placements, name))
        for name in sets
    }
