"""Expected values of placements by physics and effects, before trees correct them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from analysis.prediction.effects import Effects, EffectSet
from analysis.prediction.examples.placements import Placement
from analysis.prediction.examples.targets import Quantity
from analysis.prediction.folds import Fold
from analysis.prediction.novelty import Novelty
from analysis.prediction.physics import PhysicalBase, fit_base
from analysis.prediction.regression import Design, design_of
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
        base = self.base.logarithms(placements)
        return ExpectedValues(base, self.effects.contributions(placements))


@dataclass(frozen=True)
class ExpectationFit:
    """Fits expectations to examples, or to all of them but a fold."""

    placements: Sequence[Placement]
    amounts: Values
    """The measured value at each; (n,)."""
    quantity: Quantity
    design: Design

    def whole(self) -> Expectation:
        """The expectation that all examples tell."""
        base = self._base(np.arange(len(self.amounts)))
        y = np.log(self.amounts) - base.logarithms(self.placements)
        coefficients = self.design.fit(np.arange(len(y)), y)
        return Expectation(base, self.design.effects(coefficients))

    def hidden(self, fold: Fold) -> ExpectedValues:
        """The expected values of the hidden examples of a fold, by the known ones."""
        logarithms = self._base(fold.known).logarithms(self.placements)
        coefficients = self.design.fit(fold.known, np.log(self.amounts) - logarithms)
        contributions = self.design.contributions(fold.hidden, coefficients)
        return ExpectedValues(logarithms[fold.hidden], contributions)

    def part(self, rows: Places) -> Self:
        """The same fit to these examples alone."""
        known = [self.placements[row] for row in rows.tolist()]
        design = design_of(known, self.design.chosen)
        return type(self)(known, self.amounts[rows], self.quantity, design)

    def _base(self, rows: Places) -> PhysicalBase:
        known = [self.placements[row] for row in rows.tolist()]
        finely = self.design.chosen == "sizes"
        return fit_base(known, self.amounts[rows], self.quantity, finely=finely)


def expectation_fit(
    placements: Sequence[Placement], amounts: Values, quantity: Quantity, chosen: EffectSet
) -> ExpectationFit:
    """A fit with the effects of a set to these examples; (n,) and (n,)."""
    return ExpectationFit(placements, amounts, quantity, design_of(placements, chosen))
