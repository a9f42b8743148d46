"""The drivers of a prediction: a base by physics, times a factor for each effect and each number of
the trees (SHAP values: Lundberg, Erion and Lee 2018, "Consistent individualized feature attribution
for tree ensembles").
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from analysis.predict.effects import GROUPS, EffectSet
from analysis.predict.examples.placements import Placement, Quantity
from analysis.predict.expectation import ExpectedValues, PhysicalBase, physical_terms
from analysis.predict.novelty import Novelty
from analysis.predict.predictor import NoPrediction, Prediction, TargetPredictor, bounded_exp
from analysis.statistics.arrays import ValueTable, np

FactorOrigin: TypeAlias = Literal["effect", "trees"]
_TIMES = ("arithmetic", "traffic", "activations", "each call", "each layer")
_TERMS: Mapping[Quantity, tuple[str, ...]] = {
    "time": _TIMES,
    "energy": _TIMES,
    "memory": ("the process", "weights", "activations", "values of a layer"),
}
"""The terms of the base by quantity, as `physical_terms` has them."""
USUAL = "all questions"
_NAMES = {"all": "all results", "kind": "kind of device"}
_LEAST_FACTOR = 1e-9
_Logarithm: TypeAlias = tuple[FactorOrigin, str, str, float]


@dataclass(frozen=True)
class Factor:
    """A number by which a prediction is multiplied."""

    origin: FactorOrigin
    name: str
    subject: str
    """The value that has the effect, e.g. a model's name; empty for trees."""
    value: float


@dataclass(frozen=True)
class Explanation:
    """A prediction as a product."""

    prediction: Prediction
    base: float
    """Counted work at the device's peaks, in the target's unit."""
    shares: Mapping[str, float]
    factors: tuple[Factor, ...]
    """Base times all of them is the prediction; those that change most come first."""


def explanation_of(predictor: TargetPredictor, placement: Placement) -> Explanation | NoPrediction:
    (answer,) = predictor.predict([placement])
    if isinstance(answer, NoPrediction):
        return answer
    placement = predictor.answerable(placement)
    expectation = predictor.expectation(answer.novelty)
    expected = expectation.at([placement])
    sign = math.log(
        predictor.target.value(math.e, placement) / predictor.target.value(1, placement)
    )
    logarithms = [
        *_effects(placement, expectation.effects.chosen, expected.contributions),
        *_trees(predictor, placement, answer.novelty, expected),
    ]
    factors = [
        Factor(origin, name, subject, bounded_exp(round(sign) * logarithm))
        for origin, name, subject, logarithm in logarithms
        if abs(logarithm) > _LEAST_FACTOR
    ]
    return Explanation(
        prediction=answer,
        base=predictor.target.value(bounded_exp(expected.base[0]), placement),
        shares=_shares(expectation.base, placement),
        factors=tuple(sorted(factors, key=lambda one: -abs(math.log(one.value)))),
    )


def _effects(
    placement: Placement, chosen: EffectSet, contributions: ValueTable
) -> Iterator[_Logarithm]:
    for (name, group), logarithm in zip(GROUPS[chosen].items(), contributions[0], strict=True):
        subjects = dict.fromkeys(" ".join(_words(key)) for key in group.keys(placement))
        words = ", ".join(subjects).replace(placement.device.key, placement.device.name)
        yield "effect", _NAMES.get(name, name), words, float(logarithm)


def _words(key: object) -> Iterator[str]:
    """The parts of a key, one behind the other; nothing is said twice."""
    parts = key if isinstance(key, tuple) else (key,)
    words = [
        word for part in parts for word in (_words(part) if isinstance(part, tuple) else [part])
    ]
    yield from dict.fromkeys(str(word) for word in words if word not in ("", None))


def _trees(
    predictor: TargetPredictor, placement: Placement, novelty: Novelty, expected: ExpectedValues
) -> Iterator[_Logarithm]:
    calibrated = predictor.calibration(novelty)
    if calibrated is None or calibrated.trees is None:
        return
    table = predictor.columns.table([placement], expected, calibrated.novelty)
    values = calibrated.trees.contributions(table)[0] * calibrated.weight
    values = values * predictor.trees_share(placement)
    names: Sequence[str] = (*predictor.columns.names(calibrated.novelty), USUAL)
    for name, logarithm in zip(names, values, strict=True):
        yield "trees", name, "", float(logarithm)


def _shares(base: PhysicalBase, placement: Placement) -> dict[str, float]:
    """The part of each term in the base: what is left of it with the others' coefficients at 0."""
    names, terms = _TERMS[base.quantity], physical_terms([placement], base.quantity)
    amounts = []
    with np.errstate(divide="ignore"):
        for nth in range(len(names)):
            alone = {
                part: tuple(value if number == nth else 0.0 for number, value in enumerate(values))
                for part, values in base.coefficients.items()
            }
            amounts.append(bounded_exp(replace(base, coefficients=alone).logarithms(terms)[0]))
    total = sum(amounts)
    return {name: amount / total for name, amount in zip(names, amounts, strict=True)}
