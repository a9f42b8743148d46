"""Training of predictors from examples."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.predict.calibrated import (
    CalibratedTrees,
    HalfWidths,
    calibrated_range,
    calibrated_trees,
)
from analysis.predict.effects import EffectSet
from analysis.predict.examples.placements import Example, Target
from analysis.predict.expectation import Expectation, ExpectationFit, effect_set, expectation_fits
from analysis.predict.features import domain_of
from analysis.predict.novelty import NOVELTIES, POOLED_WITH, Novelty, seen_in, trained_for
from analysis.predict.predictor import TargetPredictor
from analysis.predict.trees import TreeColumns, tree_columns_of
from analysis.statistics.arrays import np

LEAST_RESULTS = 5
"""Examples from which on a target is predicted at all."""


def train_target(
    target: Target, examples: Sequence[Example], novelties: Sequence[Novelty] = NOVELTIES
) -> TargetPredictor | None:
    if len(examples) < LEAST_RESULTS:
        return None
    placements = [one.placement for one in examples]
    amounts = np.array([target.amount(one.value, one.placement) for one in examples])
    fits = expectation_fits(placements, amounts, target.quantity)
    calibration = _Calibration(
        fits, {name: fit.whole() for name, fit in fits.items()}, tree_columns_of(placements)
    )
    return TargetPredictor(
        target=target,
        expectations=calibration.expectations,
        columns=calibration.columns,
        trees=calibration.trees(novelties),
        domain=domain_of(placements),
        seen=seen_in(placements),
        examples=Counter(one.source for one in examples),
    )


@dataclass(frozen=True)
class _Calibration:
    """Fits trees for one novelty after the other."""

    fits: Mapping[EffectSet, ExpectationFit]
    expectations: Mapping[EffectSet, Expectation]
    columns: TreeColumns

    def trees(self, novelties: Iterable[Novelty]) -> dict[Novelty, CalibratedTrees]:
        """The trees of these novelties, first those that others' widths are pooled with."""
        calibrated: dict[Novelty, CalibratedTrees] = {}
        wider = {*POOLED_WITH.values()}
        for novelty in sorted(trained_for(novelties), key=lambda one: one not in wider):
            trees = self._calibrated(novelty, calibrated)
            if trees is not None:
                calibrated[novelty] = trees
        return calibrated

    def _calibrated(
        self, novelty: Novelty, known: Mapping[Novelty, CalibratedTrees]
    ) -> CalibratedTrees | None:
        fit = self.fits[effect_set(novelty)]
        if novelty == "range":
            return calibrated_range(fit, self.columns, known.get("shape"))
        pooled_with = POOLED_WITH.get(novelty)
        if pooled_with is None or pooled_with not in known:
            return calibrated_trees(fit, self.columns, novelty)
        return calibrated_trees(fit, self.columns, novelty, self._half_widths(known[pooled_with]))

    def _half_widths(self, trees: CalibratedTrees) -> HalfWidths:
        expectation, novelty = self.expectations[effect_set(trees.novelty)], trees.novelty
        return lambda p: trees.half_widths(self.columns.table(p, expectation.at(p), novelty))
