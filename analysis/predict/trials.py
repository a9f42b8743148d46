"""Trials: predictions of examples that the predictor did not know, with errors and baselines."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.predict.baselines import PREDICTION_BASELINES
from analysis.predict.examples.placements import Example, Target
from analysis.predict.folds import folds_of
from analysis.predict.novelty import Novelty, seen_in, trained_for
from analysis.predict.predictor import Prediction, train_target
from analysis.statistics.arrays import np

NEAR = 0.10
"""The relative error up to which a prediction counts as near."""


@dataclass(frozen=True)
class Accuracy:
    """Errors of predictions, relative to what was measured: 0.1 for 10 %."""

    questions: int
    mape: float
    median_ape: float
    within_tenth: float
    bias: float
    """The median of relative errors with their signs: above 0 where predictions are too high."""


@dataclass(frozen=True)
class IntervalQuality:
    """Intervals against what was measured."""

    questions: int
    coverage: float
    half_width: float
    """The median of √(high / low): 1.2 for an interval from a sixth less to a fifth more."""


def accuracy_of(measured: Sequence[float], predicted: Sequence[float]) -> Accuracy | None:
    """The errors of predictions of measured values, (n,) and (n,); None if there are none."""
    if not measured:
        return None
    errors = np.asarray(predicted) / np.asarray(measured) - 1
    sizes = np.abs(errors)
    return Accuracy(
        questions=len(measured),
        mape=float(sizes.mean()),
        median_ape=float(np.median(sizes)),
        within_tenth=float((sizes <= NEAR).mean()),
        bias=float(np.median(errors)),
    )


def interval_quality(
    measured: Sequence[float], lows: Sequence[float], highs: Sequence[float]
) -> IntervalQuality | None:
    """The quality of the intervals of measured values, (n,) each; None if there are none."""
    if not measured:
        return None
    values, low, high = map(np.asarray, (measured, lows, highs))
    return IntervalQuality(
        questions=len(measured),
        coverage=float(((low <= values) & (values <= high)).mean()),
        half_width=float(np.median(np.sqrt(high / low))),
    )


@dataclass(frozen=True)
class AnsweredQuestion:
    """An example that was hidden, with what was predicted of it."""

    example: Example
    prediction: Prediction
    baselines: Mapping[str, float]


@dataclass(frozen=True)
class PredictionTrial:
    """Hidden examples with their predictions."""

    answered: tuple[AnsweredQuestion, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)

    @property
    def refusals(self) -> int:
        return sum(self.refused.values())

    @property
    def marked(self) -> int:
        return sum(one.prediction.extrapolates for one in self.answered)

    @property
    def accuracy(self) -> Accuracy | None:
        return accuracy_of(self._measured, [one.prediction.value for one in self.answered])

    @property
    def intervals(self) -> IntervalQuality | None:
        lows = [one.prediction.low for one in self.answered]
        return interval_quality(
            self._measured, lows, [one.prediction.high for one in self.answered]
        )

    @property
    def baselines(self) -> dict[str, Accuracy]:
        known = {
            name: accuracy_of(self._measured, [one.baselines[name] for one in self.answered])
            for name in (self.answered[0].baselines if self.answered else ())
        }
        return {name: accuracy for name, accuracy in known.items() if accuracy}

    @property
    def best_baseline(self) -> tuple[str, Accuracy]:
        return min(self.baselines.items(), key=lambda one: one[1].mape)

    def part(self, keep: Callable[[AnsweredQuestion], bool]) -> "PredictionTrial":
        return PredictionTrial(tuple(filter(keep, self.answered)))

    @property
    def _measured(self) -> list[float]:
        return [one.example.value for one in self.answered]


def run_trial(
    target: Target, examples: Sequence[Example], hidden: Sequence[Example]
) -> PredictionTrial:
    """Predict hidden examples from others, of which baselines learn too; empty of too few.

    It trains for the novelties of the questions alone. Where one of them cannot be calibrated,
    answers come from a wider one: then all are trained.
    """
    seen = seen_in(example.placement for example in examples)
    kinds = trained_for({seen.novelty(example.placement) for example in hidden})
    predictor = train_target(target, examples, kinds)
    if predictor is not None and not {*kinds} <= predictor.trees.keys():
        predictor = train_target(target, examples)
    if predictor is None:
        return PredictionTrial()
    answers = predictor.predict([example.placement for example in hidden])
    refused = Counter(one.reason for one in answers if not isinstance(one, Prediction))
    pairs = [
        (example, answer)
        for example, answer in zip(hidden, answers, strict=True)
        if isinstance(answer, Prediction)
    ]
    questions = [example.placement for example, _ in pairs]
    baselines = {
        name: baseline(target, examples, questions).tolist()
        for name, baseline in PREDICTION_BASELINES.items()
        if pairs
    }
    answered = [
        AnsweredQuestion(*pair, {name: values[row] for name, values in baselines.items()})
        for row, pair in enumerate(pairs)
    ]
    return PredictionTrial(tuple(answered), refused)


@dataclass(frozen=True)
class NoveltyTrial:
    """A trial of one novelty by cross-validation."""

    novelty: Novelty
    trial: PredictionTrial
    groups: int
    folds: tuple[int, int]
    """The number of folds that were hidden, and of all that there are."""


def cross_validated(
    target: Target, examples: Sequence[Example], novelty: Novelty, most: int | None = None
) -> NoveltyTrial:
    """Hide each of at most so many folds of a novelty in turn, and predict it from the others."""
    folds = folds_of([example.placement for example in examples], novelty)
    trials, groups = list[PredictionTrial](), 0
    for fold in folds[:most]:
        known, hidden = (
            [examples[row] for row in part.tolist()] for part in (fold.known, fold.hidden)
        )
        trials.append(run_trial(target, known, hidden))
        groups += fold.groups if trials[-1].answered else 0
    return NoveltyTrial(novelty, joined(trials), groups, (len(trials), len(folds)))


def joined(trials: Iterable[PredictionTrial]) -> PredictionTrial:
    parts = list(trials)
    refused: Counter[str] = Counter()
    for part in parts:
        refused.update(part.refused)
    return PredictionTrial(tuple(one for part in parts for one in part.answered), refused)
