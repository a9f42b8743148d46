"""The domain of a predictor: what its examples span, and what of a question leaves it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from analysis.predict.examples.placements import Placement
from analysis.predict.features import FEATURES, features
from analysis.statistics.arrays import ValueTable, np

REFUSED_BEYOND = math.log(32)
"""The greatest distance of a number beyond the examples, as a logarithm: farther, an answer is
refused."""
MARKED_BEYOND = math.log(1.02)
_NAMED = ("batch size", "length", "new tokens", "threads")
"""Features that a question names; the others follow from them and from the model."""
_CHOICES = ("backend and runtime", "precision", "mode")


@dataclass(frozen=True)
class Domain:
    """The span of the examples."""

    lows: Mapping[str, float]
    """The least value of each feature, a logarithm; none for what no example has."""
    highs: Mapping[str, float]
    choices: Mapping[str, frozenset[str]]
    """The backends with runtimes, precisions and modes that examples have."""

    def refusals(self, placements: Sequence[Placement]) -> list[str | None]:
        """For each the reason why nothing can be said of it; None where something can."""
        table = features(placements)
        sentences = self._sentences(table, REFUSED_BEYOND)
        reason_of = cache(self._unknown_choice)
        reasons = [reason_of(*_choices(one)) for one in placements]
        for row, (first, *_) in sentences.items():
            reasons[row] = reasons[row] or f"{first}, too far to say anything"
        return reasons

    def outside(self, placements: Sequence[Placement]) -> list[tuple[str, ...]]:
        """For each the features that leave the domain, each as a sentence; empty inside.

        What a question names comes before what follows from it.
        """
        table = features(placements)
        sentences = self._sentences(table, MARKED_BEYOND)
        return [sentences.get(row, ()) for row in range(len(placements))]

    def _unknown_choice(self, *values: str) -> str | None:
        for name, value in zip(_CHOICES, values, strict=True):
            if value not in self.choices[name]:
                known = ", ".join(sorted(self.choices[name]))
                return f"{name} {value}: nobody measured any; examples have {known}"
        return None

    def _beyond(self, table: ValueTable) -> ValueTable:
        """The distance of each feature to the examples; one that they lack counts as inside."""
        lows = np.array([self.lows.get(name, -np.inf) for name in FEATURES])
        highs = np.array([self.highs.get(name, np.inf) for name in FEATURES])
        return np.asarray(np.nan_to_num(np.maximum(lows - table, table - highs), nan=-np.inf))

    def _sentences(self, table: ValueTable, margin: float) -> dict[int, tuple[str, ...]]:
        """By row, a sentence for each feature that is so far outside; rows without are left out."""
        beyond = self._beyond(table) > margin
        sentence_of = cache(self._sentence)
        names = sorted(enumerate(FEATURES), key=lambda pair: pair[1] not in _NAMED)
        sentences: dict[int, tuple[str, ...]] = {}
        for row in np.flatnonzero(beyond.any(axis=1)).tolist():
            values, far = table[row].tolist(), beyond[row].tolist()
            sentences[row] = tuple(
                sentence_of(name, values[column]) for column, name in names if far[column]
            )
        return sentences

    def _sentence(self, name: str, value: float) -> str:
        is_above = value > self.highs[name]
        edge = self.highs[name] if is_above else self.lows[name]
        ends = ("above", "largest") if is_above else ("below", "smallest")
        return (
            f"{name} {_number(value)} is {ends[0]} {_number(edge)}, the {ends[1]} that was measured"
        )


def domain_of(placements: Sequence[Placement]) -> Domain:
    """The domain of examples at these placements."""
    table = features(placements)
    known = np.flatnonzero(~np.isnan(table).all(axis=0)).tolist()
    names = list(FEATURES)
    return Domain(
        lows={names[column]: float(np.nanmin(table[:, column])) for column in known},
        highs={names[column]: float(np.nanmax(table[:, column])) for column in known},
        choices={
            name: frozenset(_choices(placement)[number] for placement in placements)
            for number, name in enumerate(_CHOICES)
        },
    )


def _choices(placement: Placement) -> tuple[str, ...]:
    return ("/".join(placement.path), placement.precision, placement.mode)


def _number(logarithm: float) -> str:
    return f"{math.exp(logarithm):.4g}"
