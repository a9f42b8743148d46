"""Training of predictors from examples."""

from collections import Counter
from collections.abc import Sequence

from analysis.prediction.calibrated import LearnedExamples, calibrated_trees
from analysis.prediction.domain import domain_of
from analysis.prediction.novelty import NOVELTIES, Novelty, seen_in
from analysis.prediction.physics import fit_base
from analysis.prediction.placements import Example
from analysis.prediction.predictor import TargetPredictor
from analysis.prediction.regression import design_of
from analysis.prediction.targets import Target
from analysis.prediction.tree_columns import effect_set, tree_columns_of
from analysis.statistics.arrays import np

LEAST_EXAMPLES = 5
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
    if len(examples) < LEAST_EXAMPLES:
        return None
    placements = [one.placement for one in examples]
    amounts = np.array([target.amount(one.value, one.placement) for one in examples])
    base = fit_base(placements, amounts, target.quantity)
    logarithms = base.logarithms(placements)
    learned = LearnedExamples(placements, logarithms, np.log(amounts) - logarithms)
    designs = {
        name: design_of(placements, name) for name in dict.fromkeys(map(effect_set, novelties))
    }
    columns = tree_columns_of(placements)
    fitted = {
        novelty: trees
        for novelty in novelties
        if (trees := calibrated_trees(learned, designs[effect_set(novelty)], columns, novelty))
    }
    whole = np.arange(len(amounts))
    return TargetPredictor(
        target=target,
        base=base,
        effects={
            name: design.effects(design.fit(whole, learned.y)) for name, design in designs.items()
        },
        columns=columns,
        trees=fitted,
        domain=domain_of(placements),
        seen=seen_in(placements),
        examples=Counter(one.source for one in examples),
    )
