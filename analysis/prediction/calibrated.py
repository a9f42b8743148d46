"""Predictors for one novelty: effects, trees on what these leave, and a calibrated interval.

Effects are fitted without the examples of a fold, as far as a question of that novelty would not
know them; the trees learn what is left in the hidden ones. Trees that were fitted without a fold
tell its errors, from which the interval follows: conformal prediction with normalised scores
(Papadopoulos, Gammerman and Vovk 2008, "Normalized nonconformity measures for regression conformal
prediction"), by folds that hide what the question does not know (Barber and others 2021,
"Predictive inference with the jackknife+").
"""

from dataclasses import dataclass, replace

from analysis.prediction.expectation import ExpectationFit, ExpectedValues
from analysis.prediction.folds import Fold, folds_of
from analysis.prediction.novelty import Novelty
from analysis.prediction.tree_columns import TreeColumns
from analysis.prediction.trees import LEAST_EXAMPLES, Trees, fit_trees
from analysis.statistics.arrays import Values, ValueTable, np

COVERAGE = 0.90
"""The share of intervals that hold what is measured later."""
TREE_WEIGHTS = (0.0, 0.5, 1.0)
"""Shares of the trees' answer that are tried: with few examples the base alone is better."""
LEAST_SCORES = 20
"""Hidden examples from which on a novelty is calibrated by its own errors."""
_SPREAD_ROUNDS = 60
_LEAST_ERROR = 0.005


@dataclass(frozen=True)
class CalibratedTrees:
    """Trees for questions of one novelty, beside the effects, with their interval."""

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
    """The number of models, devices or the like that were hidden together."""
    median_error: float
    """The median of the relative errors of hidden examples, 0.05 for 5 %."""

    def corrections(self, table: ValueTable) -> Values:
        """The trees' part of the logarithm; (n, k) to (n,)."""
        return self.weight * self.trees.values(table) if self.trees else np.zeros(len(table))

    def half_widths(self, table: ValueTable) -> Values:
        """Half the interval's width on the scale of logarithms; (n, k) to (n,)."""
        scale = np.exp(self.spread.values(table)) if self.spread else np.ones(len(table))
        return self.quantile * scale


def calibrated_trees(
    fit: ExpectationFit, columns: TreeColumns, novelty: Novelty
) -> CalibratedTrees | None:
    """Fit and calibrate the trees of a novelty; None where too few examples tell its errors.

    Args:
        fit: fits what the novelty's effects expect to the examples.
        columns: the columns of the trees.
        novelty: what a question does not know.
    """
    lesson = _lesson(fit, columns, novelty)
    if lesson is None:
        return None
    errors = np.abs(lesson.residual - lesson.weight * lesson.answers)
    spreads = np.log(errors + _LEAST_ERROR)
    scores = errors / np.exp(_cross_fitted(lesson.table, spreads, lesson.fold, _SPREAD_ROUNDS))
    enough = len(errors) >= LEAST_EXAMPLES
    return CalibratedTrees(
        novelty=novelty,
        trees=lesson.trees(),
        weight=lesson.weight,
        spread=fit_trees(lesson.table, spreads, _SPREAD_ROUNDS) if enough else None,
        quantile=conformal_quantile(scores, COVERAGE),
        errors=len(errors),
        groups=lesson.groups,
        median_error=float(np.median(np.expm1(errors))),
    )


def calibrated_range(
    fit: ExpectationFit, columns: TreeColumns, shape: CalibratedTrees | None
) -> CalibratedTrees | None:
    """The trees of sizes between those that were measured, calibrated by sizes beyond them.

    Trees say nothing of how errors grow beyond what they saw, so all such intervals are as wide.
    None where too few examples tell the errors.

    Args:
        fit: as `calibrated_trees` has it.
        columns: likewise.
        shape: the trees of novelty `shape`.
    """
    folds = folds_of(fit.placements, "range")
    errors = np.concatenate([np.array([]), *(_beyond(fit, columns, fold) for fold in folds)])
    if shape is None or len(errors) < LEAST_SCORES:
        return None
    return replace(
        shape,
        novelty="range",
        spread=None,
        quantile=conformal_quantile(errors, COVERAGE),
        errors=len(errors),
        groups=max(fold.groups for fold in folds),
        median_error=float(np.median(np.expm1(errors))),
    )


def _beyond(fit: ExpectationFit, columns: TreeColumns, fold: Fold) -> Values:
    """The errors at hidden sizes of a predictor that was trained without them."""
    inner = fit.part(fold.known)
    lesson = _lesson(inner, columns, "shape")
    hidden = [fit.placements[row] for row in fold.hidden.tolist()]
    expected = inner.whole().at(hidden)
    logarithms = expected.logarithms
    if lesson is not None and (trees := lesson.trees()):
        logarithms = logarithms + lesson.weight * trees.values(
            columns.table(hidden, expected, "shape")
        )
    return np.abs(fit.logarithms[fold.hidden] - logarithms)


def conformal_quantile(scores: Values, coverage: float) -> float:
    """The ⌈(n + 1) × coverage⌉-th smallest of n scores, and the largest if that is beyond."""
    rank = int(np.ceil((len(scores) + 1) * coverage))
    return float(np.sort(scores)[min(rank, len(scores)) - 1])


@dataclass(frozen=True)
class _Lesson:
    """The hidden examples of all folds, one behind the other, and what trees learn of them."""

    table: ValueTable
    """The columns of the trees."""
    fold: Values
    """The number of the fold of each."""
    groups: int
    residual: Values
    """The measured value by the one that is expected without the fold; logarithms."""
    learned: Values
    """The part of it that trees learn."""
    answers: Values
    """Answers of trees that do not know the fold."""
    weight: float
    """The share of their answers that leaves the smallest errors."""

    def trees(self) -> Trees | None:
        """Trees that all hidden examples taught; None where they do not help."""
        helps = self.weight and len(self.learned) >= LEAST_EXAMPLES
        return fit_trees(self.table, self.learned) if helps else None


def _lesson(fit: ExpectationFit, columns: TreeColumns, novelty: Novelty) -> _Lesson | None:
    folds = folds_of(fit.placements, novelty)
    rows = np.concatenate([np.array([], dtype=np.int64), *(fold.hidden for fold in folds)])
    if len(rows) < LEAST_SCORES:
        return None
    parts = [fit.hidden(fold) for fold in folds]
    expected = ExpectedValues(
        np.concatenate([part.base for part in parts]),
        np.vstack([part.contributions for part in parts]),
    )
    numbers = np.concatenate([np.full(len(fold.hidden), n) for n, fold in enumerate(folds)])
    table = columns.table([fit.placements[row] for row in rows.tolist()], expected, novelty)
    residual = fit.logarithms[rows] - expected.logarithms
    learned = _centred(residual, numbers) if novelty == "device" else residual
    answers = _cross_fitted(table, learned, numbers)
    weight = min(TREE_WEIGHTS, key=lambda one: _loss(residual - one * answers))
    groups = sum(fold.groups for fold in folds)
    return _Lesson(table, numbers, groups, residual, learned, answers, weight)


def _cross_fitted(table: ValueTable, y: Values, fold: Values, rounds: int | None = None) -> Values:
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
