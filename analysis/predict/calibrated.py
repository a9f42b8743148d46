"""Predictors for one novelty: effects, trees on what these leave, and a calibrated interval.

Effects are fitted without the examples of a fold, as far as a question of that novelty would not
know them; the trees learn what is left in the hidden ones. Trees that were fitted without a fold
tell its errors, from which the interval follows: conformal prediction with normalised scores
(Papadopoulos, Gammerman and Vovk 2008, "Normalized nonconformity measures for regression conformal
prediction"), by folds that hide what the question does not know (Barber and others 2021,
"Predictive inference with the jackknife+").
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from analysis.predict.examples.placements import Placement
from analysis.predict.expectation import ExpectationFit
from analysis.predict.folds import Fold, folds_of
from analysis.predict.lessons import LEAST_SCORES, group_numbers, lesson_of
from analysis.predict.novelty import ALIKE, Novelty
from analysis.predict.pooling import pooled_widths, spread_share
from analysis.predict.scores import DeviceErrors, conformal_quantile, errors_by_device
from analysis.predict.tree_columns import TreeColumns
from analysis.predict.trees import Trees
from analysis.statistics.arrays import Values, ValueTable, np

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
    pooling: float | None
    """The quantile of errors by widths that are pooled with those of another novelty; None where
    they are not."""
    errors: int
    """Hidden examples whose errors it is known from."""
    groups: int
    """The number of models, devices or the like that were hidden together."""
    by_device: Mapping[str, DeviceErrors]
    """The errors on each device that was tried."""
    median_error: float
    """The median of the relative errors of hidden examples, 0.05 for 5 %."""

    def corrections(self, table: ValueTable) -> Values:
        """The trees' part of the logarithm; (n, k) to (n,)."""
        return self.weight * self.trees.values(table) if self.trees else np.zeros(len(table))

    def half_widths(self, table: ValueTable) -> Values:
        """Half the interval's width on the scale of logarithms; (n, k) to (n,)."""
        scale = np.exp(self.spread.values(table)) if self.spread else np.ones(len(table))
        return self.quantile * scale


HalfWidths: TypeAlias = Callable[[Sequence[Placement]], Values]
"""Gives half the widths of the intervals at placements, as logarithms."""


def calibrated_trees(
    fit: ExpectationFit, columns: TreeColumns, novelty: Novelty, wider: HalfWidths | None = None
) -> CalibratedTrees | None:
    """Fit and calibrate the trees of a novelty; None where too few examples tell its errors.

    Args:
        fit: fits what the novelty's effects expect to the examples.
        columns: the columns of the trees.
        novelty: what a question does not know.
        wider: gives the widths that its own are pooled with; None for none.
    """
    lesson = lesson_of(fit, columns, novelty)
    if lesson is None:
        return None
    errors = lesson.errors
    spreads = spread_share(int(lesson.alike.max()) + 1) * np.log(errors + _LEAST_ERROR)
    enough = lesson.can_be_cross_fitted
    scale = np.exp(lesson.cross_fitted(spreads, _SPREAD_ROUNDS)) if enough else np.ones(len(errors))
    scores = errors / scale
    quantile, pooling = conformal_quantile(scores, lesson.alike), None
    if wider is not None:
        pooled = pooled_widths(quantile * scale, wider(lesson.hidden), lesson.siblings)
        scores = errors / pooled
        pooling = conformal_quantile(scores, lesson.alike)
    return CalibratedTrees(
        novelty=novelty,
        trees=lesson.trees(),
        weight=lesson.weight,
        spread=lesson.fitted(spreads, _SPREAD_ROUNDS) if enough else None,
        quantile=quantile,
        pooling=pooling,
        errors=len(errors),
        groups=lesson.groups,
        by_device=errors_by_device(scores, lesson.alike, lesson.hidden, pooling or quantile),
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
    hidden = [fit.placements[row] for fold in folds for row in fold.hidden.tolist()]
    errors = np.concatenate([np.array([]), *(_beyond(fit, columns, fold) for fold in folds)])
    if shape is None or len(errors) < LEAST_SCORES:
        return None
    alike = group_numbers(hidden, ALIKE["range"])
    quantile = conformal_quantile(errors, alike)
    return replace(
        shape,
        novelty="range",
        spread=None,
        pooling=None,
        quantile=quantile,
        errors=len(errors),
        groups=max(fold.groups for fold in folds),
        by_device=errors_by_device(errors, alike, hidden, quantile),
        median_error=float(np.median(np.expm1(errors))),
    )


def _beyond(fit: ExpectationFit, columns: TreeColumns, fold: Fold) -> Values:
    """The errors at hidden sizes of a predictor that was trained without them."""
    inner = fit.part(fold.known)
    lesson = lesson_of(inner, columns, "shape")
    hidden = [fit.placements[row] for row in fold.hidden.tolist()]
    expected = inner.whole().at(hidden)
    logarithms = expected.logarithms
    if lesson is not None and (trees := lesson.trees()):
        logarithms = logarithms + lesson.weight * trees.values(
            columns.table(hidden, expected, "shape")
        )
    return np.abs(fit.logarithms[fold.hidden] - logarithms)
