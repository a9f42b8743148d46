"""Trials: predictions of examples that the predictor did not know, beside those of baselines."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.predict.evaluation.accuracy import (
    Accuracy,
    IntervalQuality,
    accuracy_of,
    interval_quality,
)
from analysis.predict.evaluation.baselines import PREDICTION_BASELINES
from analysis.predict.examples.placements import Example
from analysis.predict.examples.targets import Target
from analysis.predict.folds import folds_of
from analysis.predict.novelty import Novelty, seen_in, trained_for
from analysis.predict.predictor import Prediction, TargetPredictor
from analysis.predict.training import train_target


@dataclass(frozen=True)
class AnsweredQuestion:
    """An example that was hidden, with what was predicted of it."""

    example: Example
    prediction: Prediction
    baselines: Mapping[str, float]
    """By baseline, in the target's unit."""


@dataclass(frozen=True)
class PredictionTrial:
    """Hidden examples with their predictions."""

    answered: tuple[AnsweredQuestion, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    """By reason, the questions that were refused."""

    @property
    def refusals(self) -> int:
        """Questions that were refused."""
        return sum(self.refused.values())

    @property
    def marked(self) -> int:
        """Answers that are marked as extrapolations."""
        return sum(one.prediction.extrapolates for one in self.answered)

    @property
    def accuracy(self) -> Accuracy | None:
        """The predictions' errors; None without any."""
        return accuracy_of(self._measured, [one.prediction.value for one in self.answered])

    @property
    def intervals(self) -> IntervalQuality | None:
        """The quality of their intervals; None without any."""
        lows = [one.prediction.low for one in self.answered]
        return interval_quality(
            self._measured, lows, [one.prediction.high for one in self.answered]
        )

    @property
    def baselines(self) -> dict[str, Accuracy]:
        """The errors of each baseline on the same questions."""
        known = {
            name: accuracy_of(self._measured, [one.baselines[name] for one in self.answered])
            for name in (self.answered[0].baselines if self.answered else ())
        }
        return {name: accuracy for name, accuracy in known.items() if accuracy}

    def part(self, keep: Callable[[AnsweredQuestion], bool]) -> "PredictionTrial":
        """The answered questions that are kept."""
        return PredictionTrial(tuple(filter(keep, self.answered)))

    @property
    def _measured(self) -> list[float]:
        return [one.example.value for one in self.answered]


def run_trial(
    target: Target, examples: Sequence[Example], hidden: Sequence[Example]
) -> PredictionTrial:
    """Predict hidden examples from others; an empty trial where these are too few."""
    predictor = predictor_for(target, examples, hidden)
    return PredictionTrial() if predictor is None else trial_of(predictor, examples, hidden)


def predictor_for(
    target: Target, examples: Sequence[Example], hidden: Sequence[Example]
) -> TargetPredictor | None:
    """Train for the novelties of the questions alone; None where examples are too few.

    Where one of them cannot be calibrated, answers come from a wider one: then all are trained.
    """
    seen = seen_in(example.placement for example in examples)
    kinds = trained_for({seen.novelty(example.placement) for example in hidden})
    predictor = train_target(target, examples, kinds)
    if predictor is None or {*kinds} <= predictor.trees.keys():
        return predictor
    return train_target(target, examples)


def trial_of(
    predictor: TargetPredictor, examples: Sequence[Example], hidden: Sequence[Example]
) -> PredictionTrial:
    """Predict hidden examples; the baselines learn from the predictor's examples."""
    answers = predictor.predict([example.placement for example in hidden])
    refused = Counter(one.reason for one in answers if not isinstance(one, Prediction))
    pairs = [
        (example, answer)
        for example, answer in zip(hidden, answers, strict=True)
        if isinstance(answer, Prediction)
    ]
    return PredictionTrial(_answered(predictor.target, examples, pairs), refused)


@dataclass(frozen=True)
class NoveltyTrial:
    """A trial of one novelty by cross-validation."""

    novelty: Novelty
    trial: PredictionTrial
    groups: int
    """The number of groups that were hidden, such as models or devices."""


def cross_validated(target: Target, examples: Sequence[Example], novelty: Novelty) -> NoveltyTrial:
    """Hide every fold of a novelty in turn, and predict it from the others."""
    folds = folds_of([example.placement for example in examples], novelty)
    trials = [
        run_trial(
            target,
            [examples[row] for row in fold.known.tolist()],
            [examples[row] for row in fold.hidden.tolist()],
        )
        for fold in folds
    ]
    groups = sum(fold.groups for fold, trial in zip(folds, trials, strict=True) if trial.answered)
    return NoveltyTrial(novelty, joined(trials), groups)


def joined(trials: Iterable[PredictionTrial]) -> PredictionTrial:
    """All trials in one."""
    parts = list(trials)
    refused: Counter[str] = Counter()
    for part in parts:
        refused.update(part.refused)
    return PredictionTrial(tuple(one for part in parts for one in part.answered), refused)


def _answered(
    target: Target, examples: Sequence[Example], pairs: Sequence[tuple[Example, Prediction]]
) -> tuple[AnsweredQuestion, ...]:
    if not pairs:
        return ()
    placements = [example.placement for example, _ in pairs]
    by_name = {
        name: baseline(target, examples, placements).tolist()
        for name, baseline in PREDICTION_BASELINES.items()
    }
    return tuple(
        AnsweredQuestion(example, prediction, {name: by_name[name][row] for name in by_name})
        for row, (example, prediction) in enumerate(pairs)
    )
