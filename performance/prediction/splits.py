"""Splits of the acceptance evaluation with their bars, and their rows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from analysis.predict.trials import AnsweredQuestion, PredictionTrial, joined, run_trial
from performance.prediction import timm
from performance.prediction.bars import Bar, SplitRow
from performance.prediction.timm import SplitFold, TimmResults


@dataclass(frozen=True)
class TimmSplit:
    """A split of timm's results."""

    title: str
    folds: Callable[[TimmResults], Iterator[SplitFold]]
    bar: Bar
    averaged: bool = False
    """True if its figures are means over devices."""


TIMM_SPLITS: Mapping[str, TimmSplit] = {
    "hidden_pair": TimmSplit(
        "hidden pair of model and device",
        timm.hidden_pairs,
        Bar(0.08, 0.05, 0.78, half_width=1.20, by_two_way=0.5),
    ),
    "unseen_model": TimmSplit(
        "unseen model, siblings seen", timm.unseen_models, Bar(0.12, 0.075, 0.62, half_width=1.30)
    ),
    "unseen_family": TimmSplit(
        "unseen family", timm.unseen_families, Bar(0.24, 0.155, 0.34, half_width=1.65)
    ),
    "family_one_run": TimmSplit(
        "unseen family, one run on another GPU", timm.families_with_one_run, Bar(0.155, 0.095, 0.50)
    ),
    "unseen_gpu": TimmSplit("unseen GPU", timm.unseen_gpus, Bar(0.14, 0.11, 0.45), averaged=True),
    "gpu_ten_runs": TimmSplit(
        "unseen GPU, 10 runs on it", timm.gpus_with_ten_runs, Bar(0.11, 0.08, 0.58), averaged=True
    ),
}
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
    for fold in split.folds(results):
        trials.setdefault(fold.label, []).append(run_trial(timm.TARGET, fold.known, fold.hidden))
    by_label = {label: joined(several) for label, several in trials.items()}
    return SplitRow(name, split.title, split.bar, by_label, _parts(by_label), split.averaged)


def _parts(trials: Mapping[str, PredictionTrial]) -> dict[str, PredictionTrial]:
    whole = joined(trials.values())
    parts = {name: whole.part(keep) for name, keep in _PARTS.items()}
    return {name: part for name, part in parts.items() if part.answered}
