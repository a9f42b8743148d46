"""Splits of the acceptance evaluation with their bars, and their rows."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass

from analysis.predict.evaluation.trials import (
    AnsweredQuestion,
    PredictionTrial,
    joined,
    predictor_for,
    run_trial,
    trial_of,
)
from analysis.predict.examples.placements import Example
from performance.prediction import timm, vidur
from performance.prediction.bars import Bar, SplitRow
from performance.prediction.folds import SplitFold
from performance.prediction.timm import TimmResults
from runner.contract.models.iteration import TRAINING_PASSES


@dataclass(frozen=True)
class TimmSplit:
    """A split of timm's results."""

    title: str
    folds: Callable[[TimmResults], Iterator[SplitFold]]
    bar: Bar
    averaged: bool = False
    """True if its figures are means over devices."""
    usual: bool = False
    """True if it is asked at usual batch sizes too, which tell nothing of memory."""


TIMM_SPLITS: Mapping[str, TimmSplit] = {
    "hidden_pair": TimmSplit(
        "hidden pair of model and device",
        timm.hidden_pairs,
        Bar(0.08, 0.05, 0.78, half_width=1.20, by_two_way=0.5),
    ),
    "unseen_model": TimmSplit(
        "unseen model, siblings seen",
        timm.unseen_models,
        Bar(0.12, 0.075, 0.62, half_width=1.30),
        usual=True,
    ),
    "unseen_family": TimmSplit(
        "unseen family",
        timm.unseen_families,
        Bar(0.24, 0.155, 0.34, half_width=1.65),
        usual=True,
    ),
    "family_one_run": TimmSplit(
        "unseen family, one run on another GPU",
        timm.families_with_one_run,
        Bar(0.155, 0.095, 0.50),
    ),
    "unseen_gpu": TimmSplit("unseen GPU", timm.unseen_gpus, Bar(0.14, 0.11, 0.45), averaged=True),
    "gpu_ten_runs": TimmSplit(
        "unseen GPU, 10 runs on it",
        timm.gpus_with_ten_runs,
        Bar(0.11, 0.08, 0.58),
        averaged=True,
    ),
}
_SINGULAR = "no known model has the same counts"
VIDUR_BAR = Bar(0.07, 0.06, 0.75)
_PARTS: Mapping[str, Callable[[AnsweredQuestion], bool]] = {
    "GPU": lambda one: one.example.placement.device.kind == "gpu",
    "CPU": lambda one: one.example.placement.device.kind == "cpu",
    "compiled": lambda one: one.example.placement.runtime == "torch_compile",
    "training": lambda one: one.example.placement.mode == "training",
}


def timm_row(name: str, results: TimmResults) -> SplitRow:
    """The figures of a split of timm's results."""
    split = TIMM_SPLITS[name]
    trials: dict[str, list[PredictionTrial]] = {}
    usual, singular, beside = (list[PredictionTrial]() for _ in range(3))
    change = timm.at_usual_batch(results)
    for fold in split.folds(results):
        predictor = predictor_for(timm.TARGET, fold.known, fold.hidden)
        if predictor is None:
            continue
        trial = trial_of(predictor, fold.known, fold.hidden)
        trials.setdefault(fold.label, []).append(trial)
        counted = {_counts(example) for example in fold.known}
        singular.append(trial.part(lambda one, c=counted: _counts(one.example) not in c))
        beside.append(trial_of(predictor, fold.known, fold.beside))
        if split.usual:
            usual.append(trial_of(predictor, fold.known, [*map(change, fold.hidden)]))
    by_label = {label: joined(several) for label, several in trials.items()}
    parts = _parts(by_label)
    if (alone := joined(singular)).answered:
        parts[_SINGULAR] = alone
    asked_otherwise = {
        "at the usual batch size": joined(usual).accuracy,
        "in runtimes and modes that no other device has": joined(beside).accuracy,
    }
    others = {words: accuracy for words, accuracy in asked_otherwise.items() if accuracy}
    return SplitRow(name, split.title, split.bar, by_label, parts, split.averaged, others)


def _counts(example: Example) -> Hashable:
    """What one network has under all of its names, such as `deit_` and `vit_`."""
    placement = example.placement
    passes = TRAINING_PASSES if placement.mode == "training" else 1
    work = placement.counts.flops / placement.batch_size / passes
    return placement.counts.parameters, placement.length, round(work)


def vidur_row(fold: SplitFold) -> SplitRow:
    """The figures of operators with more tokens than any that is known."""
    trial = run_trial(vidur.TARGET, fold.known, fold.hidden)
    operators = sorted({one.example.placement.architecture for one in trial.answered})
    parts = {
        name: trial.part(lambda one, name=name: one.example.placement.architecture == name)
        for name in operators
    }
    accuracy = vidur.layer_accuracy(trial)
    others = {"of whole layers, as sums": accuracy} if accuracy else {}
    return SplitRow(
        "vidur",
        f"vidur, {fold.label}",
        VIDUR_BAR,
        {fold.label: trial},
        parts,
        others=others,
    )


def _parts(trials: Mapping[str, PredictionTrial]) -> dict[str, PredictionTrial]:
    whole = joined(trials.values())
    parts = {name: whole.part(keep) for name, keep in _PARTS.items()}
    return {name: part for name, part in parts.items() if part.answered}
