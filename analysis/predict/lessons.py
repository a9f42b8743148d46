"""Lessons: hidden examples of all folds, with what is left of them for trees to learn."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

from analysis.predict.examples.placements import Placement
from analysis.predict.expectation import ExpectationFit, ExpectedValues
from analysis.predict.folds import Fold, folds_of
from analysis.predict.novelty import ALIKE, HIDDEN, POOLED_WITH, Novelty, lines_of
from analysis.predict.pooling import siblings_in
from analysis.predict.tree_columns import TreeColumns
from analysis.predict.trees import LEAST_EXAMPLES, Trees, fit_trees
from analysis.statistics.arrays import Places, Values, ValueTable, np

TREE_WEIGHTS = (0.0, 0.5, 1.0)
"""Shares of the trees' answer that are tried: with few examples the base alone is better."""
LEAST_SCORES = 20
"""Hidden examples from which on a novelty is calibrated by its own errors."""


_WORKERS = 2
"""Folds whose trees are fitted at once; each fit has one thread, so that none waits for another."""


@dataclass(frozen=True)
class Lesson:
    """The hidden examples of all folds, one behind the other."""

    hidden: Sequence[Placement]
    """Their placements."""
    siblings: Values
    """The number of models of each one's line that the fold knows; 0 where widths are not pooled
    by it."""
    table: ValueTable
    """The columns of the trees."""
    fold: Places
    """The number of the fold of each."""
    group: Places
    """The number of the model, device or the like with which each was hidden together."""
    alike: Places
    """The number of the group with which each one's error is alike."""
    residual: Values
    """The measured value by the one that is expected without the fold; logarithms."""
    learned: Values
    """The part of it that trees learn."""

    @property
    def groups(self) -> int:
        """The number of models, devices or the like."""
        return int(self.group.max()) + 1

    @property
    def can_be_cross_fitted(self) -> bool:
        """True if without any fold enough examples are left to fit trees."""
        return len(self.fold) - int(np.bincount(self.fold).max()) >= LEAST_EXAMPLES

    @cached_property
    def answers(self) -> Values:
        """Answers of trees that do not know the fold."""
        return self.cross_fitted(self.learned)

    @cached_property
    def weight(self) -> float:
        """The share of their answers that leaves the smallest errors."""
        return min(TREE_WEIGHTS, key=lambda one: _loss(self.residual - one * self.answers))

    @property
    def errors(self) -> Values:
        """The absolute errors of answers that do not know the fold, as logarithms."""
        return np.abs(self.residual - self.weight * self.answers)

    def trees(self) -> Trees | None:
        """Trees that all hidden examples taught; None where they do not help."""
        helps = self.weight and len(self.learned) >= LEAST_EXAMPLES
        return self.fitted(self.learned) if helps else None

    def fitted(self, y: Values, rounds: int | None = None) -> Trees:
        """Trees for a number of each example."""
        return fit_trees(self.table, y, self.groups, rounds)

    def cross_fitted(self, y: Values, rounds: int | None = None) -> Values:
        """The answer to each example of trees that do not know its fold; 0 of too few others."""
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
    """The hidden examples of a novelty; None where they are too few.

    Args:
        fit: fits what the novelty's effects expect to the examples.
        columns: the columns of the trees.
        novelty: what a question does not know.
    """
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
    return Lesson(
        hidden=hidden,
        siblings=_siblings(fit.placements, folds)
        if novelty in POOLED_WITH
        else np.zeros(len(rows)),
        table=columns.table(hidden, expected, novelty),
        fold=numbers,
        group=group_numbers(hidden, HIDDEN[novelty]),
        alike=group_numbers(hidden, ALIKE[novelty]),
        residual=residual,
        learned=_centred(residual, numbers) if novelty == "device" else residual,
    )


def group_numbers(
    placements: Iterable[Placement], group: Callable[[Placement], Hashable]
) -> Places:
    """The number of each placement's group, by when it first comes."""
    numbers: dict[Hashable, int] = {}
    keys = map(group, placements)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])


def _siblings(placements: Sequence[Placement], folds: Iterable[Fold]) -> Values:
    """The number of models of the line of each hidden example that its fold knows."""
    parts = []
    for fold in folds:
        lines = lines_of(placements[row] for row in fold.known.tolist())
        parts.append(siblings_in(lines, (placements[row] for row in fold.hidden.tolist())))
    return np.concatenate(parts)


def _centred(residual: Values, fold: Places) -> Values:
    """Without what a whole device is off: that is no matter of the model or its sizes."""
    centred = residual.copy()
    for number in np.unique(fold):
        centred[fold == number] -= np.median(residual[fold == number])
    return centred


def _loss(errors: Values) -> float:
    return float(np.abs(np.expm1(np.clip(errors, -3.0, 3.0))).mean())
