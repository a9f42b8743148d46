"""Predictors: the value of a target at any placement, with an interval and what it rests on."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from analysis.predict.calibrated import (
    CalibratedTrees,
    calibrated_range,
    calibrated_trees,
    pooled_widths,
    siblings_in,
)
from analysis.predict.effects import EffectSet
from analysis.predict.examples.placements import Example, Placement, Target
from analysis.predict.expectation import Expectation, effect_set, expectation_fits
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
    domain: Domain
    seen: Seen
    examples: Mapping[str, int]

    def predict(self, placements: Sequence[Placement]) -> list[Prediction | NoPrediction]:
        """The answer for each placement; one in a precision that autocast answers is marked."""
        known = [self.answerable(one) for one in placements]
        answers: list[Prediction | NoPrediction] = []
        for placement, other, answer in zip(placements, known, self._answers(known), strict=True):
            if other is not placement and isinstance(answer, Prediction):
                path = " ".join(placement.path)
                doubt = (
                    f"nobody measured {placement.precision} on {path}: this rests on autocast"
                    f" ({other.precision}), which casts weights anew in each layer"
                )
                answers.append(replace(answer, outside=(doubt, *answer.outside)))
            else:
                answers.append(answer)
        return answers

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
        wider = NOVELTIES[NOVELTIES.index(ANSWERED_BY.get(novelty, novelty)) :]
        return next((self.trees[name] for name in wider if name in self.trees), None)

    def expectation(self, novelty: Novelty) -> Expectation:
        calibrated = self.calibration(novelty)
        return self.expectations[effect_set(calibrated.novelty if calibrated else novelty)]

    def _predict(self, placements: Sequence[Placement], novelty: Novelty) -> list[Prediction]:
        calibrated = self.calibration(novelty)
        expected = self.expectation(novelty).at(placements)
        logarithms = expected.logarithms
        unknown = UNKNOWN_DEVICE_ERROR if novelty == "device" else UNKNOWN_ERROR
        half: Values = np.full(len(placements), unknown)
        doubts: tuple[str, ...] = ()
        if novelty == "device":
            doubts = ("nothing was measured on this device",)
        elif calibrated is None:
            doubts = ("too little was measured to know the errors of predictions",)
        if calibrated is not None:
            table = self.columns.table(placements, expected, calibrated.novelty)
            share = np.array([self.trees_share(placement) for placement in placements])
            logarithms = logarithms + share * calibrated.corrections(table)
            half = self._widths(placements, novelty, calibrated, calibrated.half_widths(table))
        widening = {key: self._widening(key, novelty) for key in {p.device.key for p in placements}}
        half = half * [widening[placement.device.key] for placement in placements]
        predictions = []
        rows = zip(placements, logarithms, half, self.domain.outside(placements), strict=True)
        for placement, logarithm, width, sentences in rows:
            ends = (logarithm, logarithm - width, logarithm + width)
            value, *interval = (self.target.value(bounded_exp(end), placement) for end in ends)
            outside = (*doubts, *self.seen.sparse_words(placement, novelty), *sentences)
            predictions.append(Prediction(value, min(interval), max(interval), novelty, outside))
        return predictions

    def _widths(
        self,
        placements: Sequence[Placement],
        novelty: Novelty,
        calibrated: CalibratedTrees,
        own: Values,
    ) -> Values:
        """Half the widths of intervals: another novelty's, or drawn towards them, where told so."""
        if (wider := INTERVALS_BY.get(novelty)) and wider in self.trees:
            return self._half_widths(placements, wider)
        wider = POOLED_WITH.get(novelty)
        if wider is None or wider not in self.trees or calibrated.pooling is None:
            return own
        siblings = siblings_in(self.seen.lines, placements)
        others = self._half_widths(placements, wider)
        return calibrated.pooling * pooled_widths(own, others, siblings)

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


def bounded_exp(logarithm: float) -> float:
    """The number behind a logarithm; one that no device could have stays finite."""
    known = 0.0 if math.isnan(logarithm) else logarithm
    return math.exp(min(max(known, -_MOST_LOGARITHM), _MOST_LOGARITHM))


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
    expectations = {name: fit.whole() for name, fit in fits.items()}
    columns = tree_columns_of(placements)

    def half_widths(trees: CalibratedTrees, at: Sequence[Placement]) -> Values:
        expected = expectations[effect_set(trees.novelty)].at(at)
        return trees.half_widths(columns.table(at, expected, trees.novelty))

    calibrated: dict[Novelty, CalibratedTrees] = {}
    pooled_with = {*POOLED_WITH.values()}
    for novelty in sorted(trained_for(novelties), key=lambda one: one not in pooled_with):
        fit = fits[effect_set(novelty)]
        wider = calibrated.get(POOLED_WITH[novelty]) if novelty in POOLED_WITH else None
        if novelty == "range":
            trees = calibrated_range(fit, columns, calibrated.get("shape"))
        else:
            widths = partial(half_widths, wider) if wider else None
            trees = calibrated_trees(fit, columns, novelty, widths)
        if trees is not None:
            calibrated[novelty] = trees
    return TargetPredictor(
        target=target,
        expectations=expectations,
        columns=columns,
        trees=calibrated,
        domain=domain_of(placements),
        seen=seen_in(placements),
        examples=Counter(one.source for one in examples),
    )
