"""A/A and A/B study of records: how often they fail to agree, and find a change that is there.

A record is made as `standard` makes one: fresh processes with a load, a warm-up and an equal share
of iterations, until the interval over their medians is narrow or spent. Of pairs of the same cell
(A/A) at most 5 % should have intervals that do not overlap, and at most 1 % be said to differ;
intervals should hold the machine's median, that of all processes of the session, in 90 %. Pairs
whose second record spins for 5 % longer (A/B) should be said to differ. Records come in the order
A A' B, so that a triple sees one machine.

Forty triples take hours, so each record is kept as it ends, in `performance/data/aa_study.jsonl` or
the file that `--data` names. The study goes on until that file has `--pairs`, or for `--minutes`
and to the end of the triple; a later session adds to it. Without these it only judges the file.
"""

import argparse
import json
import secrets
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.backends.machine import this_host
from performance.aa_process import STUDIED_MODEL, studied_measure
from performance.aa_records import (
    LEAST_RECORDS,
    AaRates,
    StudyRecord,
    append_record,
    pairs_of,
    rates_of,
    read_study,
)
from performance.sessions import torch_job
from runner.contract.job import PROFILES
from runner.contract.rounds import RoundResult
from runner.job.replication import is_done
from runner.measure.clock import monotonic, seconds
from runner.measure.statistics.replication import (
    growing_confidence,
    medians_of,
    moments_of,
    round_interval,
)

PAIRS = 40
SLOWDOWN = 0.05
AA_DATA = Path(__file__).parent / "data" / "aa_study.jsonl"
_MINUTE_S = 60


def main() -> int:
    """Measure what the file lacks if asked, and print the rates; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, help="measure until the file has so many")
    parser.add_argument("--minutes", type=float, help="measure to a triple's end after so many")
    parser.add_argument("--seconds", type=float, help="of a record; `standard` has 30")
    parser.add_argument("--data", type=Path, default=AA_DATA, help="the file of all records")
    parser.add_argument("--no-slowdown", action="store_true", help="leave out the slowed records")
    options = parser.parse_args()
    length = options.seconds
    if options.pairs is not None or options.minutes is not None:
        length = length or PROFILES["standard"].min_s
        slowdowns = (0.0, 0.0) if options.no_slowdown else (0.0, 0.0, SLOWDOWN)
        measure_pairs(options.data, options.pairs or PAIRS, options.minutes, length, slowdowns)
    lengths = [length] if length else sorted({one.seconds for one in read_study(options.data)})
    held = [judge(options.data, seconds_) for seconds_ in lengths]
    return int(not held or not all(held))


def judge(data: Path, seconds_: float) -> bool:
    """Print the rates of records of so many seconds; True if there are some and the bars hold."""
    rates = rates_of(read_study(data, seconds_))
    if rates is None:
        print(f"{data}: no pair of {seconds_:g} s yet")
        return False
    print(f"records of {seconds_:g} s:")
    print_rates(rates)
    return rates.held


def measure_pairs(
    data: Path, pairs: int, minutes: float | None, seconds_: float, slowdowns: tuple[float, ...]
) -> None:
    """Add triples to the file until it has so many pairs, or the minutes are over."""
    begin, there = monotonic(), len(pairs_of(read_study(data, seconds_)))
    session = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    host = this_host() or "unknown"
    for triple in range(max(0, pairs - there)):
        start = monotonic()
        records = []
        for slowdown in slowdowns:
            records.append(make_record(slowdown, seconds_, session, host, triple))
            append_record(data, records[-1])
        print(triple_line(there + triple + 1, pairs, records, monotonic() - start), flush=True)
        if minutes is not None and seconds(monotonic() - begin) >= minutes * _MINUTE_S:
            break


def triple_line(number: int, pairs: int, records: list[StudyRecord], ns: int) -> str:
    """The line that tells of a triple as it ends."""
    first, second, *others = records
    agree = "overlap" if first.overlaps(second) else "do not overlap"
    words = [f"pair {number} of {pairs}: {_shown(first)} and {_shown(second)} {agree}"]
    for slow in others:
        found = "found" if second.differs(slow) else "not found"
        words.append(f"slowed by {slow.slowdown:.0%} {_shown(slow)}, {found}")
    processes = sum(len(record.medians) for record in records)
    return f"{'; '.join(words)}; {processes} processes, {seconds(ns):.0f} s"


def _shown(record: StudyRecord) -> str:
    half = (record.high - record.low) / 2
    return f"{record.value * 1e3:.3f} ± {half * 1e3:.3f} ms"


def print_rates(rates: AaRates) -> None:
    """Print the rates beside what is promised."""
    coverage, found = (
        "–" if x is None else f"{x:.1%}" for x in (rates.coverage, rates.slowdown_found)
    )
    print(
        f"{rates.pairs} pairs of the same cell, {STUDIED_MODEL}, in {rates.sessions} sessions on"
        f" {rates.hosts} machines; {rates.processes:.1f} processes a record"
    )
    print(f"intervals that don't overlap, A/A                {rates.apart:.1%} (at most 5 %)")
    print(f"said to differ, A/A                              {rates.said_to_differ:.1%} (1 %)")
    print(
        f"intervals that hold their session's median       {coverage} (90 % or more), of"
        f" {rates.judged} records in sessions of {LEAST_RECORDS} or more"
    )
    print(f"processes of a record differ by                  {rates.between_process_cv:.1%}")
    print(f"a slowdown of {SLOWDOWN:.0%} that is found, A/B          {found} of {rates.slowed}")
    rounded = {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in rates.model_dump().items()
    }
    print(json.dumps({"measurement": "aa_study", **rounded, "held": rates.held}), flush=True)


def make_record(
    slowdown: float, seconds_: float, session: str, host: str, triple: int
) -> StudyRecord:
    """Launch processes until their medians are known well enough."""
    measure = studied_measure(seconds_)
    cell = torch_job(STUDIED_MODEL).cells[0]
    rounds: list[RoundResult] = []
    while not rounds or not is_done(measure, cell, rounds):
        windows = rounds[-1].enough_windows if rounds else None
        rounds.append(launch(slowdown, seconds_, windows or 0))
    medians = tuple(medians_of(rounds))
    moments = moments_of(rounds)
    interval = round_interval(medians, growing_confidence(measure), moments)
    assert interval is not None
    assert moments is not None
    return StudyRecord(
        session=session,
        host=host,
        measured_at=datetime.now(UTC),
        seconds=seconds_,
        triple=triple,
        slowdown=slowdown,
        medians=medians,
        moments_s=tuple(moments),
        low=max(interval.low, sys.float_info.min),
        value=interval.median,
        high=interval.high,
    )


def launch(slowdown: float, seconds_: float, windows: int) -> RoundResult:
    """One round, in a process of its own."""
    arguments = map(str, (slowdown, seconds_, windows))
    command = [sys.executable, "-m", "performance.aa_process", *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return RoundResult.model_validate_json(output.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main())
