"""A/A and A/B study: rates of false alarms, and of real changes that are detected.

Each measurement is a fresh process, as in a run: load, warm-up, steady phase of profile `quick`,
interval of the median. A pair differs if the two intervals don't overlap. None of 40 pairs of
the same cell (A/A) should; all of 40 pairs whose second query spins for 5 % longer (A/B) should.
Measurements run in the order A A' B, so that the three of a triple see the same machine.
"""

import argparse
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass

from performance.sessions import QUICK, open_job_session, slowed, torch_job
from runner.inputs import synthesise
from runner.measure.clock import monotonic
from runner.measure.phases import quota_of, run_steady_phase, time_once, warm_up
from runner.measure.statistics.summary import summarise

PAIRS = 40
MODEL = "bert-tiny"
SLOWDOWN = 0.05


@dataclass(frozen=True)
class Interval:
    """A median and its 95 % interval, seconds."""

    low: float
    median: float
    high: float

    def overlaps(self, other: "Interval") -> bool:
        """True if the intervals share a point."""
        return self.low <= other.high and other.low <= self.high


def main() -> None:
    """Run the study, or one measurement of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--measure", type=float, metavar="SLOWDOWN")
    options = parser.parse_args()
    if options.measure is None:
        study(options.pairs)
    else:
        print(json.dumps(measure(options.measure)))


def study(pairs: int) -> None:
    """Measure all triples and print both rates."""
    same: list[tuple[Interval, Interval]] = []
    changed: list[tuple[Interval, Interval]] = []
    for _ in range(pairs):
        first, second, slow = launch(0.0), launch(0.0), launch(SLOWDOWN)
        same.append((first, second))
        changed.append((second, slow))
    false_alarms = sum(not a.overlaps(b) for a, b in same) / pairs
    detected = sum(not a.overlaps(b) and b.median > a.median for a, b in changed) / pairs
    apart = statistics.median(abs(b.median / a.median - 1) for a, b in same)
    slowdown = statistics.median(b.median / a.median - 1 for a, b in changed)
    print(f"{pairs} pairs of the same cell ({MODEL}, batch 1), each a fresh process")
    print(f"intervals that don't overlap, A/A         {false_alarms:.1%}")
    print(f"medians apart, A/A                        {apart:.1%}, median of the pairs")
    print(f"a slowdown of {SLOWDOWN:.0%} that shows, A/B          {detected:.1%}")
    print(f"medians apart, A/B                        {slowdown:+.1%}, median of the pairs")
    data = {
        "measurement": "aa_study",
        "pairs": pairs,
        "false_alarms": round(false_alarms, 3),
        "slowdown_found": round(detected, 3),
        "same_apart": round(apart, 4),
        "slowdown_seen": round(slowdown, 4),
    }
    print(json.dumps(data), flush=True)


def launch(slowdown: float) -> Interval:
    """One measurement in a process of its own."""
    command = [sys.executable, "-m", "performance.aa_study", "--measure", str(slowdown)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Interval(*json.loads(output.splitlines()[-1]))


def measure(slowdown: float) -> tuple[float | None, float, float | None]:
    """Low end, median and high end, seconds."""
    job = torch_job(MODEL)
    session, cell = open_job_session(job), job.cells[0]
    query = session.bind(cell, synthesise(job.model, cell, job.seed))
    query = slowed(query, slowdown) if slowdown else query

    def timed() -> int:
        return time_once(query, monotonic)

    warm_up(timed, monotonic, QUICK)
    durations = run_steady_phase(timed, quota_of(QUICK))
    summary = summarise(durations, samples=len(durations), steady_ns=sum(durations))
    return summary.latency_median_low_s, summary.latency_median_s, summary.latency_median_high_s


if __name__ == "__main__":
    main()
