"""The domain of a predictor: what its examples span, and what of a question leaves it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.prediction.features import FEATURES, features
from analysis.prediction.placements import Placement
from analysis.statistics.arrays import np

REFUSED_BEYOND = math.log(32)
"""How far a number may lie beyond the examples, as a logarithm: farther, an answer is refused."""
MARKED_BEYOND = math.log(1.02)
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "backend and runtime": ("backend", "runtime"),
    "precision": ("precision",),
    "mode": ("mode",),
}


@dataclass(frozen=True)
class Domain:
    """The span of the examples."""

    lows: Mapping[str, float]
    """The least value of each feature, a logarithm; none for what no example has."""
    highs: Mapping[str, float]
    choices: Mapping[str, frozenset[str]]
    """The backends with runtimes, precisions and modes that examples have."""

    def refusal(self, placement: Placement) -> str | None:
        """Why nothing can be said of it; None if something can."""
        for name, columns in _CHOICES.items():
            value = _choice(placement, columns)
            if value not in self.choices[name]:
                known = ", ".join(sorted(self.choices[name]))
                return f"{name} {value}: nobody measured any; examples have {known}"
        far = [name for name, beyond in self._beyond(placement) if beyond > REFUSED_BEYOND]
        return f"{self._sentence(placement, far[0])}, too far to say anything" if far else None

    def outside(self, placement: Placement) -> tuple[str, ...]:
        """The features that leave the domain, each as a sentence; empty inside."""
        beyond = [name for name, far in self._beyond(placement) if far > MARKED_BEYOND]
        return tuple(self._sentence(placement, name) for name in beyond)

    def _beyond(self, placement: Placement) -> list[tuple[str, float]]:
        """How far each feature lies beyond the examples; one that they lack counts as inside."""
        values = {name: of(placement) for name, of in FEATURES.items()}
        return [
            (name, max(self.lows[name] - value, value - self.highs[name]))
            for name, value in values.items()
            if name in self.lows and not math.isnan(value)
        ]

    def _sentence(self, placement: Placement, name: str) -> str:
        value = FEATURES[name](placement)
        is_above = value > self.highs[name]
        edge = self.highs[name] if is_above else self.lows[name]
        ends = ("above", "largest") if is_above else ("below", "smallest")
        return (
            f"{name} {_number(value)} is {ends[0]} {_number(edge)}, the {ends[1]} that was measured"
        )


def domain_of(placements: Sequence[Placement]) -> Domain:
    """The domain of examples at these placements."""
    table = features(placements)
    known = [place for place in range(table.shape[1]) if not np.isnan(table[:, place]).all()]
    names = list(FEATURES)
    return Domain(
        lows={names[place]: float(np.nanmin(table[:, place])) for place in known},
        highs={names[place]: float(np.nanmax(table[:, place])) for place in known},
        choices={
            name: frozenset(_choice(placement, columns) for placement in placements)
            for name, columns in _CHOICES.items()
        },
    )


def _choice(placement: Placement, columns: tuple[str, ...]) -> str:
    return "/".join(getattr(placement, column) for column in columns)


def _number(logarithm: float) -> str:
    return f"{math.exp(logarithm):.4g}"
