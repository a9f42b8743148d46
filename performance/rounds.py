"""Coverage and error of a record's interval when processes differ, on simulated processes.

Each process has a level of its own, lognormal around 1 s, and its iterations scatter around it.
They go through the runner's own quotas, steady phase, decision and interval: with fixed numbers of
rounds, and with numbers that grow as in the profiles `standard` and `audit`. The interval should
hold the machine's level in 93 to 97 % of records. With fixed numbers of rounds the error must fall
with their root: the rms error times that root is the same for all of them, within a tenth. Of pairs
of records of the same cell, by the profiles, at most 5 % have intervals that do not overlap, and at
most 1 % are said to differ.
"""

import json
import math
import sys
from collections.abc import Mapping
from statistics import fmean, median
from typing import Any

import numpy as np

from analysis.statistics.ratios import Estimate, shows_difference
from performance.sessions import torch_job
from performance.simulated import SECOND, a_result, chance, durations_of
from runner.contract.job import PROFILES, Job, Measure
from runner.contract.rounds import RoundResult
from runner.job.replication import is_done
from runner.measure.phases import quota_of, run_steady_phase
from runner.measure.statistics.replication import growing_confidence, round_interval

REPETITIONS = 2_000
WITHIN = 0.02
BETWEEN = (0.003, 0.01, 0.02, 0.03, 0.05)
COVERAGE = (0.93, 0.97)
ROOT_LAW = 0.10
"""Most that rms error × √rounds may be off its mean; 2,000 records know it within 2 %."""
MOST_APART, MOST_DIFFERENT = 0.05, 0.01
ITERATIONS = 7
"""Iterations of a round: the share of 20 that each of three has."""


def main() -> int:
    """Simulate every measure at every spread of processes, and print shares and errors."""
    held = True
    scaled: dict[float, list[float]] = {between: [] for between in BETWEEN}
    for name, measure in measures().items():
        for between in BETWEEN:
            data: dict[str, Any] = {"measurement": "rounds", "measure": name, "between": between}
            data |= simulate(torch_job("bert-tiny", measure), between)
            data["held"] = keeps_bars(data, grows=measure.most_rounds > measure.rounds)
            held &= bool(data["held"])
            if measure.most_rounds == measure.rounds:
                scaled[between].append(data["rms_error"] * math.sqrt(measure.rounds))
            print(
                f"{name:<16} processes differ by {between:.1%}: coverage {data['coverage']:.1%},"
                f" rms error {data['rms_error']:.2%}, {data['rounds']:.1f} rounds,"
                f" ± {data['precision']:.2%}; of pairs {data['apart']:.1%} don't overlap,"
                f" {data['different']:.1%} are said to differ"
            )
            print(json.dumps(data), flush=True)
    for between, errors in scaled.items():
        off = max(abs(error / fmean(errors) - 1) for error in errors)
        held &= off <= ROOT_LAW
        print(f"processes differ by {between:.1%}: rms error × √rounds within {off:.1%}")
        print(json.dumps({"measurement": "rounds", "between": between, "root_law": off}))
    return 0 if held else 1


def keeps_bars(shares: Mapping[str, float], *, grows: bool) -> bool:
    """True if the shares keep their bars, give or take two standard errors of the simulation."""
    low, high = COVERAGE
    margin = chance(0.05, REPETITIONS)
    pairs = REPETITIONS // 2
    agree = shares["apart"] <= MOST_APART + chance(MOST_APART, pairs) and shares[
        "different"
    ] <= MOST_DIFFERENT + chance(MOST_DIFFERENT, pairs)
    return low - margin <= shares["coverage"] <= high + margin and (agree or not grows)


def measures() -> dict[str, Measure]:
    """Fixed numbers of rounds, and the profiles whose numbers grow, without their least times."""
    standard, audit = PROFILES["standard"], PROFILES["audit"]
    plain = {"min_s": 0.0, "max_s": 10_000.0}
    fixed = {
        f"{count} rounds": standard.model_copy(
            update={**plain, "rounds": count, "max_rounds": None, "iterations": ITERATIONS * count}
        )
        for count in (2, 3, 5, 10)
    }
    return {
        **fixed,
        "standard": standard.model_copy(update=plain),
        "audit": audit.model_copy(update=plain),
    }


def simulate(job: Job, between: float) -> dict[str, float]:
    """Coverage, rms error of the median, mean rounds and mean precision of simulated records.

    Neighbours are pairs of the same cell, of grade A, which shows the smallest differences.
    """
    random = np.random.default_rng(round(between * 1e4))
    truth = math.exp(between**2 / 2)  # the mean of the levels
    held, errors, counts, widths = 0, [], [], []
    records: list[Estimate] = []
    for _ in range(REPETITIONS):
        rounds: list[RoundResult] = []
        while not rounds or not is_done(job.measure, job.cells[0], rounds):
            level = math.exp(between * random.standard_normal())
            quota = quota_of(job.measure, sum(result.steady_ns for result in rounds))
            durations = run_steady_phase(durations_of(random, level, WITHIN), quota)
            rounds.append(a_result(durations))
        medians = [median(result.durations_ns) / SECOND for result in rounds]
        interval = round_interval(medians, growing_confidence(job.measure))
        assert interval is not None
        held += interval.low <= truth <= interval.high
        errors.append(interval.median / truth - 1)
        counts.append(len(rounds))
        widths.append(interval.precision or math.inf)
        records.append(Estimate(interval.median, interval.low, interval.high))
    pairs = list(zip(records[::2], records[1::2], strict=True))
    return {
        "coverage": round(held / REPETITIONS, 4),
        "rms_error": round(float(np.sqrt(np.mean(np.square(errors)))), 5),
        "rounds": round(float(np.mean(counts)), 2),
        "precision": round(float(np.mean(widths)), 5),
        "apart": fmean(one.low > other.high or other.low > one.high for one, other in pairs),
        "different": fmean(shows_difference(one.over(other), "A") for one, other in pairs),
    }


if __name__ == "__main__":
    sys.exit(main())
