"""Processes that merge into one database at once, and ask, validate and export it between merges.

None may fail, and each row that a merge reported has to be there: at least those of its own
process after each merge, and exactly all of them at the end.
"""

import argparse
import json
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from pathlib import Path

from orchestrator.store import ExportOptions, Store, export_topic, query, validate_database
from orchestrator.store.database.lock import WAIT_S
from performance.merging import merge
from performance.scratch_results import SEED
from performance.synthetic import synthesise
from runner.contract.errors import BenchError

PROCESSES = 5
SECONDS = 60.0
ROWS = 20
"""Results of one merge."""
MOST_TURNS = 1000
"""Turns of one process whose results are its own."""


@dataclass
class Tally:
    """Figures of one process, or of all of them."""

    merges: int = 0
    questions: int = 0
    slowest_s: float = 0.0
    failures: list[str] = field(default_factory=list)


def load(database: Path, number: int, seconds: float) -> Tally:
    """Merge and ask for so many seconds."""
    tally, deadline = Tally(), time.monotonic() + seconds
    for turn in count():
        if time.monotonic() > deadline:
            return tally
        try:
            _take_turn(database, number, turn, tally)
        except (BenchError, SystemExit) as error:
            tally.failures.append(f"process {number}, turn {turn}: {error}")
    raise AssertionError


def _take_turn(database: Path, number: int, turn: int, tally: Tally) -> None:
    folder = database.parent / f"records-{number}-{turn}"
    for _ in synthesise(folder, ROWS, SEED, first=(number * MOST_TURNS + turn) * ROWS):
        pass
    started = time.monotonic()
    merge(folder, database, ROWS, scratch=True)
    tally.merges += 1
    ((rows,),) = _rows(database, "SELECT count(*) FROM benchmark_results")
    if rows < tally.merges * ROWS:
        tally.failures.append(f"process {number} sees {rows} rows after {tally.merges} merges")
    if turn % 3 == 1:
        validate_database(database)
    if turn % 3 == 2:
        output = database.with_name(f"export-{number}.parquet")
        export_topic(database, ExportOptions("performance", output, everything=True, force=True))
    tally.questions += 1
    tally.slowest_s = max(tally.slowest_s, time.monotonic() - started)


def _rows(database: Path, sql: str) -> list[tuple[int, ...]]:
    return [tuple(row.values()) for row in query(database, sql).to_pylist()]


def loaded(database: Path, processes: int, seconds: float) -> Tally:
    """Let that many processes at one database; returns the figures of all."""
    Store.open(database, scratch=True).close()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        tallies = list(
            pool.map(load, [database] * processes, range(processes), [seconds] * processes)
        )
    total = Tally(
        sum(tally.merges for tally in tallies),
        sum(tally.questions for tally in tallies),
        max(tally.slowest_s for tally in tallies),
        [failure for tally in tallies for failure in tally.failures],
    )
    ((rows,),) = _rows(database, "SELECT count(*) FROM benchmark_results")
    if rows != total.merges * ROWS:
        total.failures.append(f"{rows} rows are there, and {total.merges * ROWS} were merged")
    return total


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        total = loaded(Path(folder, "scratch.duckdb"), PROCESSES, seconds)
    for failure in total.failures:
        print(failure, file=sys.stderr)
    print(f"{PROCESSES} processes, {total.merges} merges, {total.questions} questions")
    print(f"slowest turn with its waits: {total.slowest_s:.1f} s (a wait: at most {WAIT_S:g})")
    print(json.dumps({"measurement": "store_load", "failures": len(total.failures)}))
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
