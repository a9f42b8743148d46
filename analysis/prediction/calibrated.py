"""Predictors for one novelty: effects, trees on what these leave, and a calibrated interval.

Effects are fitted without the examples of a fold, as far as a question of that novelty would not
know them; the trees learn what is left in the hidden ones. Trees that were fitted without a fold
tell its errors, from which the interval follows: conformal prediction with normalised scores
(Papadopoulos, Gammerman and Vovk 2008, "Normalized nonconformity measures for regression conformal
prediction"), by folds that hide what the question does not know (Barber and others 2021,
"Predictive inference with the jackknife+").
"""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.prediction.novelty import Fold, Novelty, folds_of
from analysis.prediction.placements import Placement
from analysis.prediction.regression import Design
from analysis.prediction.tree_columns import TreeColumns
from analysis.prediction.trees import LEAST_EXAMPLES, Trees, fit_trees
from analysis.statistics.arrays import Matrix, Values, np

COVERAGE = 0.90
"""The share of intervals that hold what is measured later."""
WEIGHTS = (0.0, 0.5, 1.0)
"""Shares of the trees' answer that are tried: with few examples the base alone is better."""
LEAST_SCORES = 20
"""Hidden examples from which on a novelty is calibrated by its own errors."""
_SPREAD_ROUNDS = 60
_LEAST_ERROR = 0.005


@dataclass(frozen=True)
class CalibratedTrees:
    """What answers questions of one novelty, beside the effects."""

    novelty: Novelty
    trees: Trees | None
    """None where they did not help."""
    weight: float
    """The share of their answer that is added."""
    spread: Trees | None
    """Trees of the logarithm of the error; None where too few errors tell it."""
    quantile: float
    """The quantile of the scores: errors of logarithms by their spread."""
    errors: int
    """Hidden examples whose errors it is known from."""
    groups: int
    """What was hidden together, such as models or devices."""
    median_error: float
    """The median of the relative errors of hidden examples, 0.05 for 5 %."""

    def corrections(self, table: Matrix) -> Values:
        """What the trees add to the logarithm; (n, k) to (n,)."""
        return self.weight * self.trees.values(table) if self.trees else np.zeros(len(table))

    def half_widths(self, table: Matrix) -> Values:
        """Half the interval's width on the scale of logarithms; (n, k) to (n,)."""
        scale = np.exp(self.spread.values(table)) if self.spread else np.ones(len(table))
        return self.quantile * scale


@dataclass(frozen=True)
class LearnedExamples:
    """What a predictor learns from."""

    placements: Sequence[Placement]
    base: Values
    """The logarithm of the base at each; (n,)."""
    y: Values
    """The logarithm of the value that was measured, by the base; (n,)."""


def calibrated_trees(
    examples: LearnedExamples, design: Design, columns: TreeColumns, novelty: Novelty
) -> CalibratedTrees | None:
    """Fit and calibrate the trees of a novelty; None where too few examples tell its errors.

    Args:
        examples: what is learned from.
        design: the columns of the novelty's effects at the examples.
        columns: the columns of the trees.
        novelty: what a question does not know.
    """
    placements, base, y = examples.placements, examples.base, examples.y
    folds = folds_of(placements, novelty)
    rows = np.concatenate([fold.hidden for fold in folds]) if folds else np.array([], dtype=int)
    if len(rows) < LEAST_SCORES:
        return None
    hidden = _hidden(folds, y, design)
    chosen = [placements[row] for row in rows]
    table = columns.table(chosen, base[rows], hidden.contributions, novelty)
    residual = y[rows] - hidden.contributions.sum(axis=1)
    learned = _centred(residual, hidden.fold) if novelty == "device" else residual
    answers = _cross_fitted(table, learned, hidden.fold)
    weight = min(WEIGHTS, key=lambda one: _loss(residual - one * answers))
    errors = np.abs(residual - weight * answers)
    spreads = np.log(errors + _LEAST_ERROR)
    scores = errors / np.exp(_cross_fitted(table, spreads, hidden.fold, _SPREAD_ROUNDS))
    enough = len(rows) >= LEAST_EXAMPLES
    return CalibratedTrees(
        novelty=novelty,
        trees=fit_trees(table, learned) if weight and enough else None,
        weight=weight,
        spread=fit_trees(table, spreads, _SPREAD_ROUNDS) if enough else None,
        quantile=conformal_quantile(scores, COVERAGE),
        errors=len(rows),
        groups=hidden.groups,
        median_error=float(np.median(np.expm1(errors))),
    )


def conformal_quantile(scores: Values, coverage: float) -> float:
    """The ⌈(n + 1) × coverage⌉-th smallest of n scores, and the largest if that is beyond."""
    rank = int(np.ceil((len(scores) + 1) * coverage))
    return float(np.sort(scores)[min(rank, len(scores)) - 1])


@dataclass(frozen=True)
class _Hidden:
    """The hidden examples of all folds, one behind the other."""

    contributions: Matrix
    """What effects say of them that do not know them."""
    fold: Values
    """The number of the fold of each."""
    groups: int


def _hidden(folds: Sequence[Fold], y: Values, design: Design) -> _Hidden:
    parts = [design.contributions(fold.hidden, design.fit(fold.known, y)) for fold in folds]
    numbers = np.concatenate([np.full(len(fold.hidden), n) for n, fold in enumerate(folds)])
    return _Hidden(np.vstack(parts), numbers, sum(fold.groups for fold in folds))


def _cross_fitted(table: Matrix, y: Values, fold: Values, rounds: int | None = None) -> Values:
    """The answer to each row of trees that do not know its fold; 0 where too few others are."""
    answers = np.zeros(len(y))
    for number in np.unique(fold):
        others, mine = fold != number, fold == number
        if others.sum() >= LEAST_EXAMPLES:
            answers[mine] = fit_trees(table[others], y[others], rounds).values(table[mine])
    return answers


def _centred(residual: Values, fold: Values) -> Values:
    """Without what a whole device is off: that is no matter of the model or its sizes."""
    centred = residual.copy()
    for number in np.unique(fold):
        centred[fold == number] -= np.median(residual[fold == number])
    return centred


def _loss(errors: Values) -> float:
    return float(np.abs(np.expm1(np.clip(errors, -3.0, 3.0))).mean())
