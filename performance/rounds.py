"""Coverage and error of a record's interval when processes differ, on simulated processes.

Each process has a level of its own, lognormal around 1 s, and its iterations scatter around it.
They go through the runner's own quotas, steady phase, decision and interval: with fixed numbers of
rounds, and with numbers that grow as in the profiles `standard` and `audit`; independent of each
other, and one behind the other, when neighbours are alike. The interval should hold the machine's
level in 93 to 97 % of records. With fixed numbers of independent rounds the error must fall
with their root: the rms error times that root is the same for all of them, within a tenth. Of pairs
of records of the same cell, by the profiles, at most 5 % have intervals that do not overlap, and at
most 1 % are said to differ.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import Any

import numpy as np

from analysis.statistics.ratios import Estimate, shows_difference
from performance.sessions import torch_job
from performance.simulated import SPACING_S, a_result, chance, durations_of, levels
from runner.contract.job import PROFILES, Job, Measure
from runner.contract.rounds import RoundResult
from runner.job.replication import is_done
from runner.measure.phases import quota_of, run_steady_phase
from runner.measure.statistics.replication import (
    growing_confidence,
    medians_of,
    moments_of,
    round_interval,
)

REPETITIONS = 2_000
WITHIN = 0.02
BETWEEN = (0.003, 0.01, 0.02, 0.03, 0.05)
COVERAGE = (0.93, 0.97)
ROOT_LAW = 0.10
"""Most that rms error × √rounds may be off its mean; 2,000 records know it within 2 %."""
MOST_APART, MOST_DIFFERENT = 0.05, 0.01
ITERATIONS = 7
"""Iterations of a round: the share of 20 that each of three has."""
_START = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> int:
    """Simulate every measure at every spread of processes, and print shares and errors."""
    held = True
    scaled: dict[float, list[float]] = {between: [] for between in BETWEEN}
    for name, measure, spacing_s in cases():
        for between in BETWEEN:
            data: dict[str, Any] = {"measurement": "rounds", "measure": name, "between": between}
            data |= simulate(torch_job("bert-tiny", measure), between, spacing_s)
            grows = measure.most_rounds > measure.rounds
            data["held"] = keeps_bars(data, grows=grows, near=spacing_s is not None)
            held &= bool(data["held"])
            if not grows:
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


def keeps_bars(shares: Mapping[str, float], *, grows: bool, near: bool) -> bool:
    """True if the shares keep their bars, give or take two standard errors of the simulation.

    What iterations scatter by is independent even of processes that are alike, so that the
    intervals of near ones may hold the level more often.
    """
    low, high = COVERAGE
    margin = chance(0.05, REPETITIONS)
    pairs = REPETITIONS // 2
    agree = shares["apart"] <= MOST_APART + chance(MOST_APART, pairs) and shares[
        "different"
    ] <= MOST_DIFFERENT + chance(MOST_DIFFERENT, pairs)
    most = 1.0 if near else high + margin
    return low - margin <= shares["coverage"] <= most and (agree or not grows)


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


def cases() -> Iterator[tuple[str, Measure, float | None]]:
    """Measures by name, with the seconds between processes; None if they are independent."""
    for name, measure in measures().items():
        yield name, measure, None
    yield "standard, near", measures()["standard"], SPACING_S


def simulate(job: Job, between: float, spacing_s: float | None = None) -> dict[str, float]:
    """Coverage, rms error of the median, mean rounds and mean precision of simulated records.

    Neighbours are pairs of the same cell, of grade A, which shows the smallest differences.
    """
    random = np.random.default_rng(round(between * 1e4))
    truth = math.exp(between**2 / 2)  # the mean of the levels
    held, errors, counts, widths = 0, [], [], []
    records: list[Estimate] = []
    for _ in range(REPETITIONS):
        rounds: list[RoundResult] = []
        level = levels(random, between, spacing_s)
        while not rounds or not is_done(job.measure, job.cells[0], rounds):
            quota = quota_of(job.measure, sum(result.steady_ns for result in rounds))
            durations = run_steady_phase(durations_of(random, next(level), WITHIN), quota)
            rounds.append(_at(a_result(durations), len(rounds), spacing_s))
        medians = medians_of(rounds)
        confidence = growing_confidence(job.measure)
        interval = round_interval(medians, confidence, moments_of(rounds))
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


def _at(result: RoundResult, number: int, spacing_s: float | None) -> RoundResult:
    """The result, measured so many spacings after the first one."""
    if spacing_s is None:
        return result
    return result.model_copy(update={"measured_at": _START + timedelta(seconds=number * spacing_s)})


if __name__ == "__main__":
    sys.exit(main())
