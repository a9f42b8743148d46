"""Results of pytorch-image-models, on the way that a user's import takes, and splits of them."""

import json
import tempfile
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis.predict.examples.example_rows import example_rows
from analysis.predict.examples.placements import PREDICTION_TARGETS, Example, plain_name
from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.importing import import_files
from orchestrator.exchange.imports.outcome import read_files
from orchestrator.store.store import Store

SEED = 20
FOLDS = 5
TARGET = PREDICTION_TARGETS["throughput"]
REFERENCES = 10
"""Models that are measured on a new GPU."""
_DRAWS = 3
"""Draws of these models for each GPU."""


@dataclass(frozen=True)
class SplitFold:
    """Examples that are hidden, and those that they are predicted from."""

    label: str
    known: Sequence[Example]
    hidden: Sequence[Example]


@dataclass(frozen=True)
class TimmResults:
    """All results with a throughput."""

    examples: Sequence[Example]
    families: Mapping[str, str]
    """By plain name of the model, timm's module with its architecture."""
    left_out: Mapping[str, int]
    """By reason, the results that are no examples."""

    def family(self, example: Example) -> str:
        """The module of a model; its architecture's name where the map lacks the model."""
        placement = example.placement
        return self.families.get(placement.model, placement.architecture)


def read_timm(folder: Path) -> TimmResults:
    """Import the files into a database of their own, and read its examples."""
    outcomes = read_files(sorted(folder.glob("*.csv")), FORMATS)
    with tempfile.TemporaryDirectory() as scratch:
        database = Path(scratch, "benchmarks.duckdb")
        import_files(outcomes, Path(scratch), database, "python -m performance prediction")
        with Store.open_readonly(database) as store:
            rows = example_rows(store, imported=True)
    modules = json.loads((folder / "family_map.json").read_text("utf-8"))
    families = {plain_name(name): module for name, module in modules.items()}
    return TimmResults(rows.examples(TARGET), families, rows.left_out)


def hidden_pairs(results: TimmResults) -> Iterator[SplitFold]:
    """Hide pairs of model and device; the model is known on another device."""
    for number, known, hidden in folds_by(results.examples, _pair):
        models = {example.placement.model for example in known}
        seen = [example for example in hidden if example.placement.model in models]
        yield SplitFold(f"fold {number}", known, seen)


def unseen_models(results: TimmResults) -> Iterator[SplitFold]:
    """Hide models; others of their module are known."""
    for number, known, hidden in folds_by(results.examples, _model):
        modules = {results.family(example) for example in known}
        siblings = [example for example in hidden if results.family(example) in modules]
        yield SplitFold(f"fold {number}", known, siblings)


def unseen_families(results: TimmResults) -> Iterator[SplitFold]:
    """Hide modules with all of their models."""
    for number, known, hidden in folds_by(results.examples, results.family):
        yield SplitFold(f"fold {number}", known, hidden)


def families_with_one_run(results: TimmResults) -> Iterator[SplitFold]:
    """Hide modules, but for one inference of each model on one GPU; the others are asked about."""
    random = np.random.default_rng(SEED)
    for number, known, hidden in folds_by(results.examples, results.family):
        runs, questions = list[Example](), list[Example]()
        of_model: dict[str, list[Example]] = {}
        for example in hidden:
            if example.placement.device.kind == "gpu":
                of_model.setdefault(example.placement.model, []).append(example)
        for examples in of_model.values():
            runnable = [one for one in examples if one.placement.mode == "inference"]
            if not runnable:
                continue
            run = runnable[int(random.integers(len(runnable)))]
            runs.append(run)
            questions += [one for one in examples if _device(one) != _device(run)]
        yield SplitFold(f"fold {number}", [*known, *runs], questions)


def unseen_gpus(results: TimmResults) -> Iterator[SplitFold]:
    """Hide all results of one GPU."""
    for device in _gpus(results):
        hidden = [example for example in results.examples if _device(example) == device]
        yield SplitFold(device, without(results.examples, hidden), hidden)


def gpus_with_ten_runs(results: TimmResults) -> Iterator[SplitFold]:
    """Hide all results of one GPU, but for those of a few models in all of its configurations.

    As for a GPU of which nothing is known, the questions are those in runtimes and modes that
    another device has.
    """
    random = np.random.default_rng(SEED)
    for device in _gpus(results):
        on_device = [example for example in results.examples if _device(example) == device]
        ways = {_way(one) for one in results.examples if _device(one) != device}
        models = sorted({example.placement.model for example in on_device})
        for _ in range(_DRAWS):
            chosen = set(random.choice(models, REFERENCES, replace=False).tolist())
            hidden = [one for one in on_device if one.placement.model not in chosen]
            yield SplitFold(
                device,
                without(results.examples, hidden),
                [one for one in hidden if _way(one) in ways],
            )


def _gpus(results: TimmResults) -> list[str]:
    devices = (example.placement.device for example in results.examples)
    return sorted({device.name for device in devices if device.kind == "gpu"})


def _way(example: Example) -> Hashable:
    """The runtime, the precision and the mode in which a model ran."""
    return example.placement.path, example.placement.precision, example.placement.mode


def _device(example: Example) -> str:
    return example.placement.device.name


def _model(example: Example) -> str:
    return example.placement.model


def _pair(example: Example) -> tuple[str, str]:
    return _model(example), _device(example)


def folds_by(
    examples: Sequence[Example], key: Callable[[Example], Hashable]
) -> Iterator[tuple[int, list[Example], list[Example]]]:
    """The number of each fold, its known examples and its hidden ones; a group is in one fold."""
    keys = [key(example) for example in examples]
    distinct = sorted(set(keys), key=repr)
    order = np.random.default_rng(SEED).permutation(len(distinct))
    number_of = {one: int(rank) % FOLDS for one, rank in zip(distinct, order, strict=True)}
    numbers = [number_of[one] for one in keys]
    for fold in range(FOLDS):
        pairs = [*zip(examples, numbers, strict=True)]
        known = [example for example, number in pairs if number != fold]
        yield fold + 1, known, [example for example, number in pairs if number == fold]


def without(examples: Sequence[Example], hidden: Sequence[Example]) -> list[Example]:
    """The examples but for the hidden ones."""
    left_out = set(map(id, hidden))
    return [example for example in examples if id(example) not in left_out]
