"""Predictors for one novelty: effects, trees on what these leave, and a calibrated interval.

Trees learn what effects leave of hidden examples; those without a fold tell its errors, and these
the interval: normalised conformal prediction (Papadopoulos, Gammerman and Vovk 2008) over folds
that hide what a question does not know (Barber and others 2021, "jackknife+"). Groups of scores
weigh alike (Lee, Barber and Willett 2023), drawn towards those of a device (Vovk 2012).
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from analysis.predict.examples.placements import Placement
from analysis.predict.expectation import ExpectationFit, ExpectedValues
from analysis.predict.folds import Fold, folds_of
from analysis.predict.novelty import ALIKE, HIDDEN, POOLED_WITH, Novelty, lines_of
from analysis.predict.trees import LEAST_EXAMPLES, TreeColumns, Trees, fit_trees
from analysis.statistics.arrays import Places, Values, ValueTable, np

COVERAGE = 0.90
"""The share of intervals that hold what is measured later."""
_FEW = 4.0
"""Groups on a device with which its own scores count as much as those of all devices."""
_LEAST_RATIO = 0.1
"""The least that a device's own scores count for, as those of few results may all be zero."""
_FEW_SIBLINGS = 9.0
"""The square of the number of siblings with which both widths count alike: three."""
_FEW_GROUPS = 160.0
"""Groups from which on differences between errors that trees tell count more than half."""


def conformal_quantile(scores: Values, group: Places, *, larger: int = 1) -> float:
    """The score below which 90 % of a new group's scores are expected to lie.

    The new group counts as one of scores that are larger than all; with 0 of them the quantile is
    that of the known groups. It is interpolated: the next larger of twenty holds percents more.
    """
    sizes = np.bincount(group)
    order = np.argsort(scores)
    shares = np.cumsum(1 / sizes[group[order]]) / (np.count_nonzero(sizes) + larger)
    return float(np.interp(COVERAGE, shares, scores[order]))


@dataclass(frozen=True)
class DeviceErrors:
    """The errors on one device, by those that the intervals of all devices allow for."""

    ratio: float
    groups: int

    def widening(self, expected: float) -> float:
        """The factor of widths on the device: the expected one, drawn to what its scores show."""
        share = self.groups / (self.groups + _FEW)
        return float(expected ** (1 - share) * max(self.ratio, _LEAST_RATIO) ** share)


def errors_by_device(
    scores: Values, group: Places, placements: Sequence[Placement], quantile: float
) -> Mapping[str, DeviceErrors]:
    """The errors on each device that has a score; `quantile` is that of all scores."""
    rows: dict[str, list[int]] = {}
    for row, placement in enumerate(placements):
        rows.setdefault(placement.device.key, []).append(row)
    return {
        device: DeviceErrors(
            conformal_quantile(scores[of], group[of], larger=0) / quantile,
            len(np.unique(group[of])),
        )
        for device, of in rows.items()
        if quantile > 0
    }


def siblings_in(lines: Mapping[Hashable, int], placements: Iterable[Placement]) -> Values:
    return np.array([float(lines.get(HIDDEN["line"](one), 0)) for one in placements])


def pooled_widths(own: Values, wider: Values, siblings: Values) -> Values:
    """The mean of both widths, the own one counting the more, the more siblings are known; (n,).

    A name may begin like that of a known model by chance. With one or two such models known, an
    interval that was calibrated on lines of many promises too much; the mean is calibrated again.
    """
    weight = siblings**2
    return np.asarray((weight * own + _FEW_SIBLINGS * wider) / (weight + _FEW_SIBLINGS))


TREE_WEIGHTS = (0.0, 0.5, 1.0)
"""Shares of the trees' answer that are tried: with few examples the base alone is better."""
LEAST_SCORES = 20
_WORKERS = 2
"""Folds whose trees are fitted at once; each fit has one thread, so that none waits for another."""
_SPREAD_ROUNDS = 60
_LEAST_ERROR = 0.005
HalfWidths: TypeAlias = Callable[[Sequence[Placement]], Values]
"""Gives half the widths of the intervals at placements, as logarithms."""


@dataclass(frozen=True)
class Lesson:
    """The hidden examples of all folds, one behind the other."""

    hidden: Sequence[Placement]
    siblings: Values
    """The models of each one's line that the fold knows; 0 where widths are not pooled by it."""
    table: ValueTable
    fold: Places
    groups: int
    alike: Places
    """The number of the group with which each one's error is alike."""
    residual: Values
    """The measured value by the one that is expected without the fold; logarithms."""
    learned: Values
    """The part of it that trees learn."""

    @cached_property
    def weight_and_errors(self) -> tuple[float, Values]:
        """The share of answers without the fold that errs least, and its absolute errors."""
        answers = self.cross_fitted(self.learned)
        errors = {weight: self.residual - weight * answers for weight in TREE_WEIGHTS}
        weight = min(
            TREE_WEIGHTS, key=lambda one: np.abs(np.expm1(np.clip(errors[one], -3.0, 3.0))).mean()
        )
        return weight, np.abs(errors[weight])

    def trees(self) -> Trees | None:
        weight, _ = self.weight_and_errors
        helps = weight and len(self.learned) >= LEAST_EXAMPLES
        return fit_trees(self.table, self.learned, self.groups) if helps else None

    def cross_fitted(self, y: Values, rounds: int | None = None) -> Values:
        answers = np.zeros(len(y))

        def answer(number: int) -> None:
            others, mine = self.fold != number, self.fold == number
            if others.sum() >= LEAST_EXAMPLES:
                trees = fit_trees(self.table[others], y[others], self.groups, rounds)
                answers[mine] = trees.values(self.table[mine])

        with ThreadPoolExecutor(_WORKERS) as pool:
            deque(pool.map(answer, np.unique(self.fold).tolist()), maxlen=0)
        return answers


def lesson_of(fit: ExpectationFit, columns: TreeColumns, novelty: Novelty) -> Lesson | None:
    folds = folds_of(fit.placements, novelty)
    rows = np.concatenate([np.array([], dtype=np.int64), *(fold.hidden for fold in folds)])
    if len(rows) < LEAST_SCORES:
        return None
    parts = [fit.hidden(fold) for fold in folds]
    expected = ExpectedValues(
        np.concatenate([part.base for part in parts]),
        np.vstack([part.contributions for part in parts]),
    )
    numbers = np.repeat(np.arange(len(folds)), [len(fold.hidden) for fold in folds])
    hidden = [fit.placements[row] for row in rows.tolist()]
    residual = fit.logarithms[rows] - expected.logarithms
    learned = residual.copy()
    if novelty == "device":  # what a whole device is off is no matter of the model or its sizes
        for number in np.unique(numbers):
            learned[numbers == number] -= np.median(residual[numbers == number])
    is_pooled = novelty in POOLED_WITH
    return Lesson(
        hidden=hidden,
        siblings=_siblings(fit.placements, folds) if is_pooled else np.zeros(len(rows)),
        table=columns.table(hidden, expected, novelty),
        fold=numbers,
        groups=len({HIDDEN[novelty](placement) for placement in hidden}),
        alike=_alike(hidden, novelty),
        residual=residual,
        learned=learned,
    )


def _alike(placements: Iterable[Placement], novelty: Novelty) -> Places:
    numbers: dict[Hashable, int] = {}
    keys = map(ALIKE[novelty], placements)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])


def _siblings(placements: Sequence[Placement], folds: Iterable[Fold]) -> Values:
    parts = []
    for fold in folds:
        lines = lines_of(placements[row] for row in fold.known.tolist())
        parts.append(siblings_in(lines, (placements[row] for row in fold.hidden.tolist())))
    return np.concatenate(parts)


@dataclass(frozen=True)
class CalibratedTrees:
    """Trees for questions of one novelty, beside the effects, with their interval."""

    novelty: Novelty
    trees: Trees | None
    """None where they did not help."""
    weight: float
    spread: Trees | None
    """Trees of the logarithm of the error; None where too few errors tell it."""
    quantile: float
    """The quantile of the scores: errors of logarithms by their spread."""
    pooling: float | None
    """The quantile of errors by pooled widths; None where widths are not pooled."""
    errors: int
    groups: int
    by_device: Mapping[str, DeviceErrors]
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
    fit: ExpectationFit, columns: TreeColumns, novelty: Novelty, wider: HalfWidths | None = None
) -> CalibratedTrees | None:
    """Calibrated trees of a novelty, pooled with widths of `wider`; None of too few examples."""
    lesson = lesson_of(fit, columns, novelty)
    if lesson is None:
        return None
    weight, errors = lesson.weight_and_errors
    # Rows of a group err alike, so that trees of few groups tell noise, which widens intervals.
    groups = int(lesson.alike.max()) + 1
    spreads = groups**2 / (groups**2 + _FEW_GROUPS**2) * np.log(errors + _LEAST_ERROR)
    enough = len(lesson.fold) - int(np.bincount(lesson.fold).max()) >= LEAST_EXAMPLES
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
        weight=weight,
        spread=fit_trees(lesson.table, spreads, lesson.groups, _SPREAD_ROUNDS) if enough else None,
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
    """The trees of `shape` with one width for sizes beyond the measured; None of too few."""
    folds = folds_of(fit.placements, "range")
    hidden = [fit.placements[row] for fold in folds for row in fold.hidden.tolist()]
    errors = np.concatenate([np.array([]), *(_beyond(fit, columns, fold) for fold in folds)])
    if shape is None or len(errors) < LEAST_SCORES:
        return None
    alike = _alike(hidden, "range")
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
    inner = fit.part(fold.known)
    lesson = lesson_of(inner, columns, "shape")
    hidden = [fit.placements[row] for row in fold.hidden.tolist()]
    expected = inner.whole().at(hidden)
    logarithms = expected.logarithms
    if lesson is not None and (trees := lesson.trees()):
        weight, _ = lesson.weight_and_errors
        logarithms = logarithms + weight * trees.values(columns.table(hidden, expected, "shape"))
    return np.abs(fit.logarithms[fold.hidden] - logarithms)
