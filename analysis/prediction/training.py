"""Training of predictors from examples."""

from collections import Counter
from collections.abc import Sequence

from analysis.prediction.calibrated import CalibratedTrees, calibrated_range, calibrated_trees
from analysis.prediction.domain import domain_of
from analysis.prediction.examples.placements import Example
from analysis.prediction.examples.targets import Target
from analysis.prediction.expectation import effect_set, expectation_fits
from analysis.prediction.novelty import NOVELTIES, Novelty, seen_in, trained_for
from analysis.prediction.predictor import TargetPredictor
from analysis.prediction.tree_columns import tree_columns_of
from analysis.statistics.arrays import np

LEAST_RESULTS = 5
"""Examples from which on a target is predicted at all."""


def train_target(
    target: Target, examples: Sequence[Example], novelties: Sequence[Novelty] = NOVELTIES
) -> TargetPredictor | None:
    """A predictor of the target; None where examples are too few.

    Args:
        target: what is predicted.
        examples: what was measured.
        novelties: the kinds of questions that it shall answer.
    """
    if len(examples) < LEAST_RESULTS:
        return None
    placements = [one.placement for one in examples]
    amounts = np.array([target.amount(one.value, one.placement) for one in examples])
    fits = expectation_fits(placements, amounts, target.quantity)
    columns = tree_columns_of(placements)
    calibrated: dict[Novelty, CalibratedTrees] = {}
    for novelty in trained_for(novelties):
        fit = fits[effect_set(novelty)]
        if novelty == "range":
            trees = calibrated_range(fit, columns, calibrated.get("shape"))
        else:
            trees = calibrated_trees(fit, columns, novelty)
        if trees is not None:
            calibrated[novelty] = trees
    return TargetPredictor(
        target=target,
        expectations={name: fit.whole() for name, fit in fits.items()},
        columns=columns,
        trees=calibrated,
        domain=domain_of(placements),
        seen=seen_in(placements),
        examples=Counter(one.source for one in examples),
    )
