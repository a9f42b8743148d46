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
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import Any

import numpy as np

from analysis.statistics.ratios import Estimate, ratio_outcome
from performance.sessions import torch_job
from runner.contract.job import PROFILES, Job, Measure
from runner.contract.rounds import Energy, MemoryUse, Noise, RoundResult
from runner.job.replication import is_done
from runner.measure.phases import quota_of, run_steady_phase
from runner.measure.statistics.replication import (
    growing_confidence,
    medians_of,
    moments_of,
    round_interval,
)
from runner.measure.statistics.spread import SHARED, STATE_S

REPETITIONS = 2_000
WITHIN = 0.02
BETWEEN = (0.003, 0.01, 0.02, 0.03, 0.05)
COVERAGE = (0.93, 0.97)
ROOT_LAW = 0.10
"""Most that rms error × √rounds may be off its mean; 2,000 records know it within 2 %."""
MOST_APART, MOST_DIFFERENT = 0.05, 0.01
ITERATIONS = 7
"""Iterations of a round: the share of 20 that each of three has."""
SPACING_S = 9.0
"""Seconds from one process to the next: 3 s of iterations of one cell, its load and warm-up."""
SECOND = 1_000_000_000
_SILENT = Noise(
    steal=None, other_load=None, kernel_spread_before=0.0, kernel_spread_after=0.0, kernel_shift=0.0
)
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
    margin = _chance(0.05, REPETITIONS)
    pairs = REPETITIONS // 2
    agree = shares["apart"] <= MOST_APART + _chance(MOST_APART, pairs) and shares[
        "different"
    ] <= MOST_DIFFERENT + _chance(MOST_DIFFERENT, pairs)
    most = 1.0 if near else high + margin
    return low - margin <= shares["coverage"] <= most and (agree or not grows)


def cases() -> Iterator[tuple[str, Measure, float | None]]:
    """Measures by name, with the seconds between processes; None if they are independent.

    Of profiles whose numbers of rounds grow, the least times are left out.
    """
    plain = {"min_s": 0.0, "max_s": 10_000.0}
    for count in (2, 3, 5, 10):
        fixed = {"rounds": count, "max_rounds": None, "iterations": ITERATIONS * count}
        yield f"{count} rounds", PROFILES["standard"].model_copy(update=plain | fixed), None
    for name in ("standard", "audit"):
        yield name, PROFILES[name].model_copy(update=plain), None
    yield "standard, near", PROFILES["standard"].model_copy(update=plain), SPACING_S


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
        level = _levels(random, between, spacing_s)
        while not rounds or not is_done(job.measure, job.cells[0], rounds):
            quota = quota_of(job.measure, sum(result.steady_ns for result in rounds))
            durations = run_steady_phase(_durations(random, next(level)), quota)
            rounds.append(_result(durations, len(rounds), spacing_s))
        medians = medians_of(rounds)
        confidence = growing_confidence(job.measure)
        interval = round_interval(medians, confidence, moments_of(rounds))
        assert interval is not None
        held += interval.low <= truth <= interval.high
        errors.append(interval.value / truth - 1)
        counts.append(len(rounds))
        widths.append(interval.precision or math.inf)
        records.append(Estimate(interval.value, interval.low, interval.high))
    pairs = list(zip(records[::2], records[1::2], strict=True))
    return {
        "coverage": round(held / REPETITIONS, 4),
        "rms_error": round(float(np.sqrt(np.mean(np.square(errors)))), 5),
        "rounds": round(float(np.mean(counts)), 2),
        "precision": round(float(np.mean(widths)), 5),
        "apart": fmean(one.low > other.high or other.low > one.high for one, other in pairs),
        "different": fmean(ratio_outcome(one.over(other), "A", 0).is_shown for one, other in pairs),
    }


def _chance(share: float, count: int) -> float:
    """Two standard errors of a share that is found in so many simulations."""
    return 2 * math.sqrt(share * (1 - share) / count)


def _levels(
    random: np.random.Generator, between: float, spacing_s: float | None
) -> Iterator[float]:
    """Levels of processes one behind the other, around 1; independent without a spacing."""
    kept = 0.0 if spacing_s is None else math.exp(-spacing_s / STATE_S)
    own = math.sqrt(1 - SHARED)
    state = random.standard_normal()
    while True:
        deviation = math.sqrt(SHARED) * state + own * random.standard_normal()
        yield math.exp(between * deviation)
        state = kept * state + math.sqrt(1 - kept**2) * random.standard_normal()


def _durations(random: np.random.Generator, level: float) -> Callable[[], int]:
    """Draws durations of a process, lognormal around its level, nanoseconds."""
    scale = math.sqrt(math.log(1 + WITHIN**2))
    return lambda: max(1, round(level * SECOND * math.exp(scale * random.standard_normal())))


def _result(durations_ns: Sequence[int], number: int, spacing_s: float | None) -> RoundResult:
    """A round on a host where nothing else happens, so many spacings after the first one."""
    measured_at = None if spacing_s is None else _START + timedelta(seconds=number * spacing_s)
    return RoundResult(
        samples=len(durations_ns),
        steady_ns=sum(durations_ns),
        durations_ns=list(durations_ns),
        noise=_SILENT,
        energy=Energy(joules=None, window_s=None, method="unavailable: simulated"),
        memory=MemoryUse(peak_bytes=None, steady_peak_bytes=None, average_bytes=None),
        load_average_1m=0.0,
        measured_at=measured_at,
    )


if __name__ == "__main__":
    sys.exit(main())
