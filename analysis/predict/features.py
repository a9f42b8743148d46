"""Numbers of placements that a predictor learns from, and what of a question leaves their span."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from analysis.predict.examples.placements import Placement
from analysis.statistics.arrays import Values, ValueTable, np

REFUSED_BEYOND = math.log(32)
"""The greatest distance of a number beyond the examples, as a logarithm: farther, an answer is
refused."""
MARKED_BEYOND = math.log(1.02)
_NAMED = ("batch size", "length", "new tokens", "threads")
"""Features that a question names; the others follow from them and from the model."""
_CHOICES = ("backend and runtime", "precision", "mode")


class Amounts:
    """Counted work and sizes of many placements, each as an array (n,), NaN where there is none."""

    def __init__(self, placements: Sequence[Placement]) -> None:
        def array(name: str, owners: Sequence[object]) -> Values:
            numbers = (getattr(one, name) for one in owners)
            return np.array([np.nan if number is None else number for number in numbers], float)

        counts = [placement.counts for placement in placements]
        self.flops = array("flops", counts)
        self.traffic_bytes = array("traffic_bytes", counts)
        self.activation_bytes = array("activation_bytes", counts)
        self.parameters = array("parameters", counts)
        self.depth = array("depth", counts)
        self.batch_size = array("batch_size", placements)
        self.length = array("length", placements)
        self.new_tokens = array("new_tokens", placements)
        self.threads = array("threads", placements)


FEATURES: Mapping[str, Callable[[Amounts], Values]] = {
    "arithmetic": lambda a: a.flops,
    "arithmetic of a sample": lambda a: a.flops / a.batch_size,
    "traffic": lambda a: a.traffic_bytes,
    "activations": lambda a: a.activation_bytes,
    "activations of a sample": lambda a: a.activation_bytes / a.batch_size,
    "parameters": lambda a: a.parameters,
    "arithmetic by activation": lambda a: a.flops / np.maximum(a.activation_bytes, 1.0),
    "arithmetic by parameter": lambda a: a.flops / a.batch_size / np.maximum(a.parameters, 1.0),
    "intensity": lambda a: a.flops / (a.traffic_bytes + 2 * a.activation_bytes),
    "batch size": lambda a: a.batch_size,
    "length": lambda a: a.length,
    "new tokens": lambda a: a.new_tokens,
    "threads": lambda a: a.threads,
    "depth": lambda a: a.depth,
}
"""By their names in explanations; predictors learn from their logarithms."""


def features(placements: Sequence[Placement]) -> ValueTable:
    """The logarithms of the numbers of each placement, NaN of none and of 0; (n, len(FEATURES))."""
    amounts = Amounts(placements)
    table = np.column_stack([of(amounts) for of in FEATURES.values()])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(table > 0, np.log(table), np.nan)


@dataclass(frozen=True)
class Domain:
    """The span of the examples."""

    lows: Mapping[str, float]
    """The least value of each feature, a logarithm; none for what no example has."""
    highs: Mapping[str, float]
    choices: Mapping[str, frozenset[str]]

    def refusals(self, placements: Sequence[Placement]) -> list[str | None]:
        """For each the reason why nothing can be said of it; None where something can."""
        sentences = self._sentences(placements, REFUSED_BEYOND)
        reason_of = cache(self._unknown_choice)
        reasons = [reason_of(*_choices(one)) for one in placements]
        for row, (first, *_) in sentences.items():
            reasons[row] = reasons[row] or f"{first}, too far to say anything"
        return reasons

    def outside(self, placements: Sequence[Placement]) -> list[tuple[str, ...]]:
        """For each a sentence per feature outside the domain, those that a question names first."""
        sentences = self._sentences(placements, MARKED_BEYOND)
        return [sentences.get(row, ()) for row in range(len(placements))]

    def _unknown_choice(self, *values: str) -> str | None:
        for name, value in zip(_CHOICES, values, strict=True):
            if value not in self.choices[name]:
                known = ", ".join(sorted(self.choices[name]))
                return f"{name} {value}: nobody measured any; examples have {known}"
        return None

    def _sentences(
        self, placements: Sequence[Placement], margin: float
    ) -> dict[int, tuple[str, ...]]:
        table = features(placements)
        lows = np.array([self.lows.get(name, -np.inf) for name in FEATURES])
        highs = np.array([self.highs.get(name, np.inf) for name in FEATURES])
        beyond = np.nan_to_num(np.maximum(lows - table, table - highs), nan=-np.inf) > margin
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
        number, limit = f"{math.exp(value):.4g}", f"{math.exp(edge):.4g}"
        return f"{name} {number} is {ends[0]} {limit}, the {ends[1]} that was measured"


def domain_of(placements: Sequence[Placement]) -> Domain:
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
