"""Small databases: a hundred or a few hundred results, and questions about models unseen there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.predict.evaluation.trials import PredictionTrial, run_trial
from analysis.predict.examples.placements import Example
from performance.prediction.bars import COVERAGE, Check
from performance.prediction.printing import print_check
from performance.prediction.timm import TARGET, TimmResults

BARS = {100: 0.32, 400: 0.26}
"""The most MAPE by number of rows."""
MOST_WORSE = 1.10
"""Our MAPE by that of the better one of the bases."""
BASES = ("roofline", "ridge")
SEEDS = range(10)
CONFIGURATIONS = 4
"""Configurations that a small database has."""
_MODELS_UNSEEN = 0.25
_MOST_QUESTIONS = 500


@dataclass(frozen=True)
class _Draw:
    """A small database, and what is asked of it."""

    known: Sequence[Example]
    hidden: Sequence[Example]


def evaluate_small_tables(results: TimmResults) -> bool:
    """Print the errors for each number of rows; true if all bars are reached."""
    held = [_evaluate(results, rows, bar) for rows, bar in BARS.items()]
    return all(held)


def _evaluate(results: TimmResults, rows: int, bar: float) -> bool:
    draws = [_draw(results, rows, seed) for seed in SEEDS]
    trials = [run_trial(TARGET, draw.known, draw.hidden) for draw in draws]
    print(
        f"\n{rows} rows of {CONFIGURATIONS} configurations, unseen models,"
        f" {len(SEEDS)} draws: mean of MAPE / median APE / within 10 %"
    )
    for name, figures in _means(trials):
        print(f"  {name:<10}" + " / ".join(f"{figure:.1%}" for figure in figures))
    coverages = [trial.intervals.coverage for trial in trials if trial.intervals]
    print(f"  90 % intervals hold {np.mean(coverages):.1%}, {min(coverages):.0%} at worst")
    part = f"small_tables {rows}"
    mapes = [trial.accuracy.mape for trial in trials if trial.accuracy]
    checks = [Check("MAPE", float(np.mean(mapes)), high=bar)]
    worst = max(_by_bases(trial) for trial in trials)
    checks.append(Check("worst MAPE by that of the better base", worst, high=MOST_WORSE))
    checks.append(Check("coverage", float(np.mean(coverages)), *COVERAGE))
    held = [print_check(part, check) for check in checks]
    return all(held)


def _draw(results: TimmResults, rows: int, seed: int) -> _Draw:
    random = np.random.default_rng((seed, rows))
    by_configuration: dict[tuple[str, ...], list[Example]] = {}
    for example in results.examples:
        if example.placement.mode == "inference":
            by_configuration.setdefault(example.placement.configuration, []).append(example)
    names = sorted(by_configuration)
    chosen = random.choice(len(names), CONFIGURATIONS, replace=False)
    pool = [example for number in chosen for example in by_configuration[names[number]]]
    models = sorted({example.placement.model for example in pool})
    count = int(len(models) * _MODELS_UNSEEN)
    unseen = set(random.choice(models, count, replace=False).tolist())
    known = [example for example in pool if example.placement.model not in unseen]
    hidden = [example for example in pool if example.placement.model in unseen]
    return _Draw(_sample(random, known, rows), _sample(random, hidden, _MOST_QUESTIONS))


def _sample(random: np.random.Generator, examples: Sequence[Example], count: int) -> list[Example]:
    numbers = random.choice(len(examples), min(count, len(examples)), replace=False)
    return [examples[number] for number in numbers]


def _means(trials: Sequence[PredictionTrial]) -> Iterator[tuple[str, list[float]]]:
    of_trials = [{"ours": trial.accuracy, **trial.baselines} for trial in trials]
    for name in of_trials[0]:
        known = [accuracy for one in of_trials if (accuracy := one[name])]
        names = ("mape", "median_ape", "within_tenth")
        yield name, [float(np.mean([getattr(one, field) for one in known])) for field in names]


def _by_bases(trial: PredictionTrial) -> float:
    if trial.accuracy is None:
        raise SystemExit("small_tables: no question was answered")
    return trial.accuracy.mape / min(trial.baselines[name].mape for name in BASES)
