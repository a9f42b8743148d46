"""Predictors: the value of a target at any placement, with an interval and what it rests on."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.predict.calibrated import (
    CalibratedTrees,
    HalfWidths,
    calibrated_range,
    calibrated_trees,
    pooled_widths,
    siblings_in,
)
from analysis.predict.effects import EffectSet
from analysis.predict.examples.placements import Example, Placement, Target
from analysis.predict.expectation import Expectation, ExpectationFit, effect_set, expectation_fits
from analysis.predict.features import Domain, domain_of
from analysis.predict.novelty import (
    ANSWERED_BY,
    INTERVALS_BY,
    NOVELTIES,
    POOLED_WITH,
    Novelty,
    Seen,
    seen_in,
    trained_for,
)
from analysis.predict.trees import TreeColumns, tree_columns_of
from analysis.statistics.arrays import Values, np

UNKNOWN_ERROR = float(np.log(3.0))
"""Half an interval's width where no example tells an error: a third to three times."""
UNKNOWN_DEVICE_ERROR = float(np.log(1.35))
"""The same on a device that nobody measured, where too few others tell it: 90 % of timm's results
on one of four GPUs lie as near to what the other three tell of it."""


_MOST_LOGARITHM = 300.0
"""Only files from elsewhere lead beyond it, and what they say is to have no other effect."""


@dataclass(frozen=True)
class Prediction:
    """A predicted value with its 90 % interval, in the target's unit."""

    value: float
    low: float
    high: float
    novelty: Novelty
    outside: tuple[str, ...]
    """Reasons why it lies outside of what was measured, each as a sentence."""

    @property
    def extrapolates(self) -> bool:
        """True if nothing promises that the interval holds."""
        return bool(self.outside)


@dataclass(frozen=True)
class NoPrediction:
    """A question that has no answer."""

    reason: str


@dataclass(frozen=True)
class TargetPredictor:
    """A predictor of one target."""

    target: Target
    expectations: Mapping[EffectSet, Expectation]
    columns: TreeColumns
    trees: Mapping[Novelty, CalibratedTrees]
    """By novelty, those that examples could calibrate."""
    domain: Domain
    seen: Seen
    examples: Mapping[str, int]

    def predict(self, placements: Sequence[Placement]) -> list[Prediction | NoPrediction]:
        """The answer for each placement; one in a precision that autocast answers is marked."""
        known = [self.answerable(one) for one in placements]
        return [
            answer
            if other is placement or isinstance(answer, NoPrediction)
            else replace(answer, outside=(_autocast_words(placement, other), *answer.outside))
            for placement, other, answer in zip(
                placements, known, self._answers(known), strict=True
            )
        ]

    def answerable(self, placement: Placement) -> Placement:
        """The placement that answers: the same, or in autocast where only that was measured."""
        precision = self.seen.autocast_for(placement)
        return placement if precision is None else replace(placement, precision=precision)

    def _answers(self, placements: Sequence[Placement]) -> list[Prediction | NoPrediction]:
        answers: dict[int, Prediction | NoPrediction] = {}
        by_novelty: dict[Novelty, list[int]] = {}
        for number, reason in enumerate(self.domain.refusals(placements)):
            if reason is not None:
                answers[number] = NoPrediction(reason)
            else:
                novelty = self.seen.novelty(placements[number])
                by_novelty.setdefault(novelty, []).append(number)
        for novelty, numbers in by_novelty.items():
            chosen = [placements[number] for number in numbers]
            answers |= zip(numbers, self._predict(chosen, novelty), strict=True)
        return [answers[number] for number in range(len(placements))]

    def calibration(self, novelty: Novelty) -> CalibratedTrees | None:
        first = ANSWERED_BY.get(novelty, novelty)
        wider = NOVELTIES[NOVELTIES.index(first) :]
        return next((self.trees[name] for name in wider if name in self.trees), None)

    def expectation(self, novelty: Novelty) -> Expectation:
        """The expectation for questions of that novelty, before trees correct it."""
        calibrated = self.calibration(novelty)
        return self.expectations[effect_set(calibrated.novelty if calibrated else novelty)]

    def _predict(self, placements: Sequence[Placement], novelty: Novelty) -> list[Prediction]:
        calibrated = self.calibration(novelty)
        expected = self.expectation(novelty).at(placements)
        logarithms = expected.logarithms
        half: Values = np.full(len(placements), _unknown_error(novelty))
        if calibrated is not None:
            table = self.columns.table(placements, expected, calibrated.novelty)
            share = np.array([self.trees_share(placement) for placement in placements])
            logarithms = logarithms + share * calibrated.corrections(table)
            half = calibrated.half_widths(table)
        if (wider := INTERVALS_BY.get(novelty)) and wider in self.trees:
            half = self._half_widths(placements, wider)
        elif (wider := POOLED_WITH.get(novelty)) and wider in self.trees and calibrated:
            half = self._pooled(placements, calibrated, half, wider)
        widening = {key: self._widening(key, novelty) for key in {p.device.key for p in placements}}
        half = half * [widening[placement.device.key] for placement in placements]
        too_little = _too_little(calibrated, novelty)
        rows = zip(placements, logarithms, half, self._outside(placements, novelty), strict=True)
        return [
            self._prediction(placement, logarithm, width, novelty, (*too_little, *sentences))
            for placement, logarithm, width, sentences in rows
        ]

    def _outside(
        self, placements: Sequence[Placement], novelty: Novelty
    ) -> Iterator[tuple[str, ...]]:
        for placement, sentences in zip(placements, self.domain.outside(placements), strict=True):
            yield *self.seen.sparse_words(placement, novelty), *sentences

    def _pooled(
        self,
        placements: Sequence[Placement],
        calibrated: CalibratedTrees,
        half: Values,
        wider: Novelty,
    ) -> Values:
        """The widths, drawn towards those of that novelty where few siblings are known."""
        if calibrated.pooling is None:
            return half
        siblings = siblings_in(self.seen.lines, placements)
        others = self._half_widths(placements, wider)
        return calibrated.pooling * pooled_widths(half, others, siblings)

    def _widening(self, device: str, novelty: Novelty) -> float:
        """The factor of widths on a device; the first novelty that was tried there tells it."""
        expected = self.seen.widening(device)
        wider = NOVELTIES[NOVELTIES.index(INTERVALS_BY.get(novelty, novelty)) :]
        known = (self.trees[name].by_device.get(device) for name in wider if name in self.trees)
        tried = next(filter(None, known), None)
        return tried.widening(expected) if tried else expected

    def _half_widths(self, placements: Sequence[Placement], novelty: Novelty) -> Values:
        expected = self.expectation(novelty).at(placements)
        return self.trees[novelty].half_widths(self.columns.table(placements, expected, novelty))

    def trees_share(self, placement: Placement) -> float:
        """The part of the trees' answer that counts; all on an unseen device with its own trees."""
        device = placement.device.key
        return self.seen.trees_share(device) if device in self.seen.devices else 1.0

    def _prediction(
        self,
        placement: Placement,
        logarithm: float,
        half: float,
        novelty: Novelty,
        outside: tuple[str, ...],
    ) -> Prediction:
        ends = (logarithm, logarithm - half, logarithm + half)
        value, *interval = (self.target.value(bounded_exp(end), placement) for end in ends)
        return Prediction(value, min(interval), max(interval), novelty, outside)


def bounded_exp(logarithm: float) -> float:
    """The number behind a logarithm; one that no device could have stays finite."""
    known = 0.0 if math.isnan(logarithm) else logarithm
    return math.exp(min(max(known, -_MOST_LOGARITHM), _MOST_LOGARITHM))


def _autocast_words(placement: Placement, other: Placement) -> str:
    path = " ".join(placement.path)
    return (
        f"nobody measured {placement.precision} on {path}: this rests on autocast"
        f" ({other.precision}), which casts weights anew in each layer"
    )


def _unknown_error(novelty: Novelty) -> float:
    return UNKNOWN_DEVICE_ERROR if novelty == "device" else UNKNOWN_ERROR


def _too_little(calibrated: CalibratedTrees | None, novelty: Novelty) -> tuple[str, ...]:
    if novelty == "device":
        return ("nothing was measured on this device",)
    if calibrated is None:
        return ("too little was measured to know the errors of predictions",)
    return ()


LEAST_RESULTS = 5
"""Examples from which on a target is predicted at all."""


def train_target(
    target: Target, examples: Sequence[Example], novelties: Sequence[Novelty] = NOVELTIES
) -> TargetPredictor | None:
    if len(examples) < LEAST_RESULTS:
        return None
    placements = [one.placement for one in examples]
    amounts = np.array([target.amount(one.value, one.placement) for one in examples])
    fits = expectation_fits(placements, amounts, target.quantity)
    calibration = _Calibration(
        fits, {name: fit.whole() for name, fit in fits.items()}, tree_columns_of(placements)
    )
    return TargetPredictor(
        target=target,
        expectations=calibration.expectations,
        columns=calibration.columns,
        trees=calibration.trees(novelties),
        domain=domain_of(placements),
        seen=seen_in(placements),
        examples=Counter(one.source for one in examples),
    )


@dataclass(frozen=True)
class _Calibration:
    """Fits trees for one novelty after the other."""

    fits: Mapping[EffectSet, ExpectationFit]
    expectations: Mapping[EffectSet, Expectation]
    columns: TreeColumns

    def trees(self, novelties: Iterable[Novelty]) -> dict[Novelty, CalibratedTrees]:
        """The trees of these novelties, first those that others' widths are pooled with."""
        calibrated: dict[Novelty, CalibratedTrees] = {}
        wider = {*POOLED_WITH.values()}
        for novelty in sorted(trained_for(novelties), key=lambda one: one not in wider):
            trees = self._calibrated(novelty, calibrated)
            if trees is not None:
                calibrated[novelty] = trees
        return calibrated

    def _calibrated(
        self, novelty: Novelty, known: Mapping[Novelty, CalibratedTrees]
    ) -> CalibratedTrees | None:
        fit = self.fits[effect_set(novelty)]
        if novelty == "range":
            return calibrated_range(fit, self.columns, known.get("shape"))
        pooled_with = POOLED_WITH.get(novelty)
        if pooled_with is None or pooled_with not in known:
            return calibrated_trees(fit, self.columns, novelty)
        return calibrated_trees(fit, self.columns, novelty, self._half_widths(known[pooled_with]))

    def _half_widths(self, trees: CalibratedTrees) -> HalfWidths:
        expectation, novelty = self.expectations[effect_set(trees.novelty)], trees.novelty
        return lambda p: trees.half_widths(self.columns.table(p, expectation.at(p), novelty))
