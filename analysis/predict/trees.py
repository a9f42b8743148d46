"""Boosted trees of LightGBM, with settings that fit the number of examples, and their columns."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from analysis.predict.effects import GROUPS
from analysis.predict.examples.placements import Placement, words_of
from analysis.predict.expectation import ExpectedValues, effect_set
from analysis.predict.features import FEATURES, features
from analysis.predict.novelty import Novelty
from analysis.statistics.arrays import Values, ValueTable, np
from runner.contract.errors import UsageError, how_to_install

_UNUSED = ("sklearn", "pandas", "matplotlib", "dask", "graphviz")
"""Packages that LightGBM imports where they are installed, slowly and for nothing here."""
LEAST_EXAMPLES = 60
"""Examples from which on trees are fitted."""
_ROUNDS = 150
_THREADS = 1
"""A second one gains little on such tables, and takes 20 times as long on a busy machine."""
_BINS = 63
MOST_WORDS = 60
_LEAST_MODELS = 5
"""Models with a word from which on it is a column."""


@contextmanager
def _without(names: Sequence[str]) -> Iterator[None]:
    """Let imports find none of these packages, unless they are there already."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


try:
    with _without(_UNUSED):
        import lightgbm
except ImportError as error:
    raise UsageError(
        "predictions need LightGBM, which is not installed",
        hint=f"{how_to_install('analysis')} installs it",
    ) from error
except OSError as error:
    raise UsageError(
        f"LightGBM cannot be loaded: {error}",
        hint="it needs OpenMP: `apt-get install libgomp1` on Debian and Ubuntu",
    ) from error


@dataclass(frozen=True)
class Trees:
    """Fitted trees."""

    text: str

    def values(self, table: ValueTable) -> Values:
        """The answer for each row; (n, k) to (n,)."""
        return np.asarray(self._booster.predict(table, num_threads=_THREADS))

    def contributions(self, table: ValueTable) -> ValueTable:
        """SHAP values of each column, and the mean answer behind them; (n, k) to (n, k + 1)."""
        return np.asarray(self._booster.predict(table, pred_contrib=True, num_threads=_THREADS))

    @cached_property
    def _booster(self) -> "lightgbm.Booster":
        return lightgbm.Booster(model_str=self.text)


def fit_trees(table: ValueTable, y: Values, groups: int, rounds: int | None = None) -> Trees:
    """Trees that learn y; (n, k) and (n,). Few groups of like examples bear few leaves."""
    data = lightgbm.Dataset(table, y, params={"verbose": -1, "max_bin": _BINS})
    settings = {  # LightGBM's defaults ruin fits of a few hundred examples
        "objective": "regression_l1",
        "learning_rate": 0.15,
        "num_leaves": int(np.clip(groups // 20, 4, 63)),
        "min_data_in_leaf": int(np.clip(len(y) // 100, 3, 10)),
        "lambda_l2": 1.0,
        "feature_fraction": 0.5,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "max_bin": _BINS,
        "num_threads": _THREADS,
        "seed": 0,
        "deterministic": True,
        "force_row_wise": True,
        "verbose": -1,
    }
    booster = lightgbm.train(settings, data, num_boost_round=rounds or _ROUNDS)
    return Trees(booster.model_to_string())


def fit_plain_trees(table: ValueTable, y: Values, categories: Sequence[int]) -> Trees:
    """Trees with LightGBM's own settings, to compare with; `categories` are columns with codes."""
    settings = {"num_threads": _THREADS, "seed": 0, "deterministic": True, "verbose": -1}
    data = lightgbm.Dataset(table, y, categorical_feature=[*categories], params={"verbose": -1})
    return Trees(lightgbm.train(settings, data).model_to_string())


@dataclass(frozen=True)
class TreeColumns:
    """The columns of a predictor's trees."""

    words: tuple[str, ...]

    def names(self, novelty: Novelty) -> tuple[str, ...]:
        effects = (f"effect of {name}" for name in GROUPS[effect_set(novelty)])
        names = (*FEATURES, *(f"name with {word}" for word in self.words), *effects)
        return names if novelty == "device" else (*names, "base")

    def table(
        self, placements: Sequence[Placement], expected: ExpectedValues, novelty: Novelty
    ) -> ValueTable:
        """The columns at each placement, with what the novelty's effects expect there; (n, k).

        On a device that nobody measured they tell nothing of the device: trees would answer as if
        it were the one that is most like it.
        """
        numbers: dict[str, int] = {}
        same = [numbers.setdefault(one.model, len(numbers)) for one in placements]
        held = [{*words_of(model)} for model in numbers]
        has_word = np.array([[word in of for word in self.words] for of in held], dtype=np.float64)
        words = has_word.reshape(len(held), -1)[same]
        columns = [features(placements), words, expected.contributions]
        return np.hstack(columns if novelty == "device" else [*columns, expected.base[:, None]])


def tree_columns_of(placements: Sequence[Placement]) -> TreeColumns:
    models = {placement.model for placement in placements}
    counts = Counter(word for model in models for word in words_of(model))
    common = [word for word, count in sorted(counts.items()) if count >= _LEAST_MODELS]
    return TreeColumns(tuple(sorted(common, key=lambda word: -counts[word])[:MOST_WORDS]))
