"""The columns that trees see: features, words of names, what effects say, and the base."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.predict.effects import GROUPS
from analysis.predict.examples.names import words_of
from analysis.predict.examples.placements import Placement
from analysis.predict.expectation import ExpectedValues, effect_set
from analysis.predict.features import FEATURES, features
from analysis.predict.novelty import Novelty
from analysis.statistics.arrays import ValueTable, np

MOST_WORDS = 60
_LEAST_MODELS = 5
"""Models with a word from which on it is a column."""


@dataclass(frozen=True)
class TreeColumns:
    """The columns of a predictor's trees."""

    words: tuple[str, ...]
    """The words of models' names that have a column."""

    def names(self, novelty: Novelty) -> tuple[str, ...]:
        """The names of the columns for that novelty."""
        effects = (f"effect of {name}" for name in GROUPS[effect_set(novelty)])
        names = (*FEATURES, *(f"name with {word}" for word in self.words), *effects)
        return names if novelty == "device" else (*names, "base")

    def table(
        self,
        placements: Sequence[Placement],
        expected: ExpectedValues,
        novelty: Novelty,
    ) -> ValueTable:
        """The columns at each placement; (n, k).

        On a device that nobody measured they tell nothing of the device: trees would answer as if
        it were the one that is most like it.

        Args:
            placements: the placements, (n,).
            expected: what the novelty's effects expect there.
            novelty: what a question does not know.
        """
        columns = [features(placements), self._words(placements), expected.contributions]
        return np.hstack(columns if novelty == "device" else [*columns, expected.base[:, None]])

    def _words(self, placements: Sequence[Placement]) -> ValueTable:
        """1 where the name of a placement's model has a word, else 0; (n, words)."""
        numbers: dict[str, int] = {}
        same = [numbers.setdefault(one.model, len(numbers)) for one in placements]
        held = [{*words_of(model)} for model in numbers]
        table = [[word in of for word in self.words] for of in held]
        return np.array(table, dtype=np.float64).reshape(len(held), -1)[same]


def tree_columns_of(placements: Sequence[Placement]) -> TreeColumns:
    """The columns for examples at these placements."""
    models = {placement.model for placement in placements}
    counts = Counter(word for model in models for word in words_of(model))
    common = [word for word, count in sorted(counts.items()) if count >= _LEAST_MODELS]
    return TreeColumns(tuple(sorted(common, key=lambda word: -counts[word])[:MOST_WORDS]))
