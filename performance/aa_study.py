"""A/A and A/B study of records: how often they fail to agree, and find a change that is there.

A record is made as `standard` makes one: fresh processes with a load, a warm-up and an equal share
of iterations, until the interval over their medians is narrow or spent. Of pairs of the same cell
(A/A) at most 5 % should have intervals that do not overlap, and at most 1 % be said to differ;
intervals should hold the machine's median, that of all processes, in 90 %. Pairs whose second
record spins for 5 % longer (A/B) should be said to differ. Records come in the order A A' B, so
that a triple sees one machine.
"""

import argparse
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass

from analysis.statistics.ratios import Estimate, shows_difference
from performance.rounds import MOST_APART, MOST_DIFFERENT
from performance.sessions import open_job_session, slowed, torch_job
from performance.simulated import SECOND, a_result, chance
from runner.contract.job import PROFILES, Measure
from runner.contract.rounds import RoundResult
from runner.inputs import synthesise
from runner.job.replication import is_done
from runner.measure.clock import monotonic
from runner.measure.phases import quota_of, run_steady_phase, time_once, warm_up
from runner.measure.statistics.replication import growing_confidence, round_interval

PAIRS = 40
MODEL = "bert-tiny"
SLOWDOWN = 0.05
LEAST_COVERAGE = 0.90


@dataclass(frozen=True)
class SimpleRecord:
    """A median with its interval, and the medians of its processes, seconds."""

    estimate: Estimate
    medians: tuple[float, ...]

    def overlaps(self, other: "SimpleRecord") -> bool:
        """True if the intervals share a point."""
        ours, theirs = self.estimate, other.estimate
        return ours.low <= theirs.high and theirs.low <= ours.high

    def differs(self, other: "SimpleRecord") -> bool:
        """True if a comparison of results would say that they differ."""
        return shows_difference(other.estimate.over(self.estimate), "A")


def main() -> int:
    """Run the study, or one process of it; 1 if a bar is missed by more than chance does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--seconds", type=float, default=PROFILES["standard"].min_s)
    parser.add_argument("--process", type=float, metavar="SLOWDOWN")
    options = parser.parse_args()
    standard = PROFILES["standard"].model_copy(update={"min_s": options.seconds})
    if options.process is None:
        return study(options.pairs, standard)
    print(json.dumps(durations(options.process, standard)))
    return 0


def study(pairs: int, measure: Measure) -> int:
    """Measure all triples and print the rates; 1 if one misses its bar."""
    triples = [
        (make_record(0.0, measure), make_record(0.0, measure), make_record(SLOWDOWN, measure))
        for _ in range(pairs)
    ]
    same = [record for first, second, _ in triples for record in (first, second)]
    level = statistics.fmean(median for record in same for median in record.medians)
    data = {
        "apart": sum(not a.overlaps(b) for a, b, _ in triples) / pairs,
        "said_to_differ": sum(a.differs(b) for a, b, _ in triples) / pairs,
        "coverage": sum(r.estimate.low <= level <= r.estimate.high for r in same) / len(same),
        "slowdown_found": sum(b.differs(c) for _, b, c in triples) / pairs,
        "processes": statistics.fmean(len(record.medians) for record in same),
        "between_process_cv": statistics.fmean(
            statistics.stdev(record.medians) / record.estimate.value for record in same
        ),
    }
    print(f"{pairs} pairs of the same cell, {MODEL}; {data['processes']:.1f} processes a record")
    print(f"intervals that don't overlap, A/A                {data['apart']:.1%} (at most 5 %)")
    print(f"said to differ, A/A                              {data['said_to_differ']:.1%} (1 %)")
    print(f"intervals that hold the median of all processes  {data['coverage']:.1%} (90 % or more)")
    print(f"processes of a record differ by                  {data['between_process_cv']:.1%}")
    print(f"a slowdown of {SLOWDOWN:.0%} that is found, A/B          {data['slowdown_found']:.1%}")
    rounded = {name: round(value, 4) for name, value in data.items()}
    print(json.dumps({"measurement": "aa_study", "pairs": pairs, **rounded}), flush=True)
    return int(
        data["apart"] > MOST_APART + chance(MOST_APART, pairs)
        or data["said_to_differ"] > MOST_DIFFERENT + chance(MOST_DIFFERENT, pairs)
        or data["coverage"] < LEAST_COVERAGE - chance(LEAST_COVERAGE, len(same))
    )


def make_record(slowdown: float, measure: Measure) -> SimpleRecord:
    """Launch processes until their medians are known well enough."""
    cell = torch_job(MODEL).cells[0]
    rounds: list[RoundResult] = []
    while not rounds or not is_done(measure, cell, rounds):
        rounds.append(a_result(launch(slowdown, measure)))
    medians = tuple(statistics.median(result.durations_ns) / SECOND for result in rounds)
    interval = round_interval(medians, growing_confidence(measure))
    assert interval is not None
    low = max(interval.low, sys.float_info.min)
    return SimpleRecord(Estimate(interval.median, low, interval.high), medians)


def launch(slowdown: float, measure: Measure) -> list[int]:
    """Durations of one round, in a process of its own."""
    command = [sys.executable, "-m", "performance.aa_study"]
    command += ["--process", str(slowdown), "--seconds", str(measure.min_s)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    values: list[int] = json.loads(output.splitlines()[-1])
    return values


def durations(slowdown: float, measure: Measure) -> list[int]:
    """Nanoseconds of one round's iterations, behind a load and a warm-up."""
    job = torch_job(MODEL, measure)
    session, cell = open_job_session(job), job.cells[0]
    query = session.bind(cell, synthesise(job.model, cell, job.weights_seed))
    query = slowed(query, slowdown) if slowdown else query

    def timed() -> int:
        return time_once(query, monotonic)

    warm_up(timed, monotonic, measure)
    return run_steady_phase(timed, quota_of(measure))


if __name__ == "__main__":
    sys.exit(main())
