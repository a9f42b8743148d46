"""Seconds of training, of one answer and of a hundred thousand."""

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from analysis.predict.examples.placements import Example, Placement
from analysis.predict.predictor import TargetPredictor, train_target
from performance.prediction.bars import Check
from performance.prediction.timm import SEED, TARGET, TimmResults
from performance.scratch import seconds

ROWS, CELLS = 15_000, 100_000
LONGEST_TRAINING_S, LONGEST_ANSWER_S, LONGEST_MATRIX_S = 30.0, 1.0, 10.0
_ANSWERS = 5


def measure_speed(results: TimmResults) -> bool:
    """Print the seconds; true if all bars are reached."""
    random = np.random.default_rng(SEED)
    count = min(ROWS, len(results.examples))
    examples = [
        results.examples[number]
        for number in random.choice(len(results.examples), count, replace=False)
    ]
    print(f"\nspeed: {len(examples):,} rows, {CELLS:,} cells")
    predictors: list[TargetPredictor | None] = []
    began_s = time.process_time()
    training_s = seconds(lambda: predictors.append(train_target(TARGET, examples)))
    print(f"  training took {time.process_time() - began_s:.1f} s of processors")
    predictor = predictors[0]
    if predictor is None:
        raise SystemExit("speed: there are too few rows to train from")
    cells = _cells(examples)
    answers_s = [seconds(lambda: predictor.predict(cells[:1])) for _ in range(_ANSWERS)]
    matrix_s = seconds(lambda: predictor.predict(cells))
    checks = (
        Check("training, s", training_s, high=LONGEST_TRAINING_S),
        Check("one answer, s", statistics.median(answers_s), high=LONGEST_ANSWER_S),
        Check(f"{CELLS:,} cells, s", matrix_s, high=LONGEST_MATRIX_S),
    )
    for check in checks:
        print(f"  {check}")
    data = {"measurement": "prediction", "part": "speed"}
    print(json.dumps({**data, "checks": [*map(asdict, checks)]}), flush=True)
    return all(check.held for check in checks)


def _cells(examples: Sequence[Example]) -> list[Placement]:
    """Placements of many sizes, so that no two questions are alike."""
    random = np.random.default_rng(SEED)
    numbers = random.integers(len(examples), size=CELLS)
    sizes = random.integers(1, 512, size=CELLS)
    return [
        replace(examples[number].placement, batch_size=int(size))
        for number, size in zip(numbers, sizes, strict=True)
    ]
