"""Cells chosen by `next` against cells drawn at random: the error on the rest of a matrix.

Of a matrix of measured cells a few are known at first. Then cells are added, by `next` or at
random, and after each step effects are fitted to what is known and predict the rest. The matrix is
60 models of timm in 11 configurations; once 60 other models were measured there before, as in a
database that grows, and once nothing was. `ACCELMATRIX_TEST_DATA` names the folder with timm's
files; our own rows are a third matrix, where their bundle is there.

For the error that random choice has reached with some number of cells, `next` should need at most
half of them, on average from a quarter of the cells on. Where nothing was measured before, each
model must be met once whatever is chosen: there it should need at most three quarters.
"""

import json
import math
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis.predict.examples.example_rows import example_rows
from analysis.predict.examples.placements import Example, Placement
from analysis.predict.examples.targets import PREDICTION_TARGETS, Target
from analysis.predict.expectation import expectation_fits
from analysis.recommend.next_cells import propose_cells
from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.store import Store
from performance.prediction.own_rows import BUNDLE
from performance.prediction.timm import read_timm

SEEDS = 12
FIRST = 6
"""Cells that are known at first, drawn at random."""
MODELS, CONFIGURATIONS = 60, 11
HALF, THREE_QUARTERS = 0.5, 0.75


@dataclass(frozen=True)
class Trial:
    """A matrix of which everything was measured, and what was measured beside it."""

    target: Target
    matrix: Sequence[Example]
    history: Sequence[Example] = ()

    def error(self, known: Sequence[int], asked: Sequence[int] | None = None) -> float:
        """The mean factor that predictions are off by, less 1, if these cells are known.

        It is the geometric mean over all others, or over those that are asked about. Of shares, as
        a mean of percentages has it, a few large overestimates would make up nearly all.
        """
        chosen = set(known)
        numbers = asked or [one for one in range(len(self.matrix)) if one not in chosen]
        rest = [self.matrix[number] for number in numbers]
        known_examples = [*self.history, *(self.matrix[number] for number in known)]
        values = _predicted(self.target, known_examples, [one.placement for one in rest])
        logarithms = [math.log(v / one.value) for v, one in zip(values, rest, strict=True)]
        return math.expm1(float(np.abs(logarithms).mean()))

    def by_next(self, known: Sequence[int], count: int) -> "Chosen":
        """These cells and those that `next` adds, up to that number.

        No measured value enters into the choice, so that all may be chosen at once.
        """
        chosen = set(known)
        left = [number for number in range(len(self.matrix)) if number not in chosen]
        candidates = [self.matrix[number].placement for number in left]
        measured = [*self.history, *(self.matrix[number] for number in known)]
        cells = propose_cells(candidates, [one.placement for one in measured], count - len(known))
        numbers = [*known, *(left[cell.index] for cell in cells)]
        rest = sorted(set(left) - set(numbers))
        real = self.error(numbers, rest) / self.error(known, rest)
        return Chosen(numbers, cells[-1].interval_share or 0.0, real)


@dataclass(frozen=True)
class Chosen:
    """Cells in the order in which `next` chooses them."""

    numbers: Sequence[int]
    expected: float
    """The interval of the rest once all are measured, by that at first, as `next` expects it."""
    real: float
    """The error of the same cells then, by that at first."""


def _predicted(
    target: Target, known: Sequence[Example], placements: Sequence[Placement]
) -> list[float]:
    """The values that a base and effects, fitted to what is known, predict; without trees."""
    places = [one.placement for one in known]
    amounts = np.array([target.amount(one.value, one.placement) for one in known])
    (fit,) = expectation_fits(places, amounts, target.quantity, ["whole"]).values()
    logarithms = fit.whole().at(placements).logarithms
    pairs = zip(np.exp(logarithms), placements, strict=True)
    return [target.value(float(amount), placement) for amount, placement in pairs]


@dataclass(frozen=True)
class Study:
    """Trials of one kind."""

    name: str
    title: str
    trials: Sequence[Trial]
    most: float
    """The most cells that `next` may need on average, by those of random choice."""

    @property
    def counts(self) -> list[int]:
        """The numbers of cells after which errors are compared."""
        cells = min(len(trial.matrix) for trial in self.trials)
        return [round(cells * share / 20) for share in range(1, 13)]


def main() -> int:
    """Run every study for which there is data; 1 if a bar is missed."""
    held = [_report(study) for study in _studies()]
    return 0 if all(held) else 1


def _studies() -> Iterator[Study]:
    folder = os.environ.get("ACCELMATRIX_TEST_DATA")
    timm = Path(folder or "", "timm")
    if folder and timm.is_dir():
        trials = [
            _timm_trial(by_model, seed) for by_model in [_models(timm)] for seed in range(SEEDS)
        ]
        title = f"timm, {MODELS} models in {CONFIGURATIONS} configurations"
        yield Study("grown", f"{title}; {MODELS} others were measured before", trials, HALF)
        bare = [Trial(trial.target, trial.matrix) for trial in trials]
        yield Study("empty", f"{title}; nothing was measured before", bare, THREE_QUARTERS)
    else:
        print("timm: left out, since ACCELMATRIX_TEST_DATA names no folder with its files")
    if BUNDLE.exists():
        yield Study(
            "own",
            "our own rows; nothing was measured before",
            [_own_trial()] * SEEDS,
            THREE_QUARTERS,
        )
    else:
        print(f"own rows: left out, since {BUNDLE.name} is not there")


def _models(folder: Path) -> Mapping[str, Mapping[object, Example]]:
    """The inferences of models that all configurations measured, by model and configuration."""
    by_model: dict[str, dict[object, Example]] = defaultdict(dict)
    for one in read_timm(folder).examples:
        if one.placement.mode == "inference":
            by_model[one.placement.model].setdefault(one.placement.configuration, one)
    return {name: cells for name, cells in sorted(by_model.items()) if len(cells) == CONFIGURATIONS}


def _timm_trial(by_model: Mapping[str, Mapping[object, Example]], seed: int) -> Trial:
    names = np.random.default_rng(seed).choice([*by_model], 2 * MODELS, replace=False)
    matrix, others = ([*names[:MODELS]], [*names[MODELS:]])
    return Trial(
        PREDICTION_TARGETS["throughput"],
        [one for name in sorted(matrix) for one in by_model[name].values()],
        [one for name in sorted(others) for one in by_model[name].values()],
    )


def _own_trial() -> Trial:
    target = PREDICTION_TARGETS["latency"]
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "benchmarks.duckdb")
        merge_paths([BUNDLE], database, scratch=False)
        with Store.open_readonly(database) as store:
            examples = example_rows(store, imported=False).examples(target)
    return Trial(target, [*{one.placement: one for one in examples}.values()])


def _report(study: Study) -> bool:
    """Print the errors by the number of cells, and the cells for the same error."""
    errors: dict[str, list[list[float]]] = {"random": [], "next": []}
    narrowed: list[tuple[float, float]] = []
    for seed, trial in enumerate(study.trials):
        order = np.random.default_rng(100 + seed).permutation(len(trial.matrix)).tolist()
        chosen = trial.by_next(order[:FIRST], study.counts[-1])
        for way, cells in (("random", order), ("next", chosen.numbers)):
            errors[way].append([trial.error(cells[:count]) for count in study.counts])
        narrowed.append((chosen.expected, chosen.real))
    mean = {way: np.mean(of_way, axis=0).tolist() for way, of_way in errors.items()}
    print(f"\n{study.title}: error of the rest, mean of {len(study.trials)} draws")
    ratios = _print_counts(study.counts, mean["random"], mean["next"])
    expected, real = np.mean(narrowed, axis=0).tolist()
    print(
        f"intervals should narrow to {expected:.2f} of what they were at first; errors of the"
        f" same cells fell to {real:.2f}"
    )
    share = float(np.mean(ratios))
    held = share <= study.most
    print(f"next needs {share:.2f} of random's cells on average (at most {study.most:g})")
    data = {"measurement": "next_cells", "study": study.name, "expected": round(expected, 3)}
    data |= {
        "real": round(real, 3),
        "ratios": np.round(ratios, 3).tolist(),
        "mean": round(share, 3),
    }
    print(json.dumps({**data, "limit": study.most, "within": held}), flush=True)
    return held


def _print_counts(
    counts: Sequence[int], random: Sequence[float], by_next: Sequence[float]
) -> list[float]:
    """Print a line for each number of cells; the shares from a quarter of the cells on."""
    print(f"{'cells':>6}  {'random':>7}  {'next':>7}  cells by next for random's error")
    ratios = []
    for count, theirs, ours in zip(counts, random, by_next, strict=True):
        needed = _needed(counts, by_next, theirs)
        share = "more" if needed is None else f"{needed:.0f}, {needed / count:.2f} of them"
        print(f"{count:>6}  {theirs:>7.1%}  {ours:>7.1%}  {share}")
        if 4 * count >= counts[-1]:
            ratios.append(float("inf") if needed is None else needed / count)
    return ratios


def _needed(counts: Sequence[int], errors: Sequence[float], error: float) -> float | None:
    """The number of cells from which on the error is that low, between two by a line."""
    for number, (count, reached) in enumerate(zip(counts, errors, strict=True)):
        if reached <= error:
            if not number:
                return float(count)
            before, above = counts[number - 1], errors[number - 1]
            return before + (count - before) * (above - error) / (above - reached)
    return None


if __name__ == "__main__":
    sys.exit(main())
