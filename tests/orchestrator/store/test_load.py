"""Processes that merge into one database and ask it at once fail at nothing and lose nothing.

Between merges they ask, validate and export. Each row that a merge reported has to be there: at
least those of its own process after each merge, and exactly all of them at the end.
"""

import time
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path

import pytest

from orchestrator.store.health.fix import validate_database
from orchestrator.store.query.ask import query
from orchestrator.store.query.export import ExportOptions, export_topic
from orchestrator.store.store import Store
from performance.scratch import SEED, merge
from performance.synthetic import synthesise

ROWS = 20
"""Results of one merge."""
MOST_TURNS = 1000
"""Turns of one process whose results are its own."""


def merges(database: Path, number: int, seconds: float) -> int:
    """Take turns for so many seconds; returns the number of merges."""
    deadline = time.monotonic() + seconds
    for turn in count():
        if time.monotonic() > deadline:
            return turn
        take_turn(database, number, turn)
    raise AssertionError


def take_turn(database: Path, number: int, turn: int) -> None:
    folder = database.parent / f"records-{number}-{turn}"
    list(synthesise(folder, ROWS, SEED, first=(number * MOST_TURNS + turn) * ROWS))
    merge(folder, database, ROWS)
    assert rows(database) >= (turn + 1) * ROWS
    if turn % 3 == 1:
        validate_database(database)
    if turn % 3 == 2:
        output = database.with_name(f"export-{number}.parquet")
        export_topic(database, ExportOptions("performance", output, everything=True, force=True))


def rows(database: Path) -> int:
    (row,) = query(database, "SELECT count(*) AS n FROM benchmark_results").to_pylist()
    return int(row["n"])


@pytest.mark.parametrize(
    ("processes", "seconds"),
    [
        pytest.param(2, 2.0, marks=pytest.mark.slow),
        pytest.param(5, 60.0, marks=[pytest.mark.nightly, pytest.mark.timeout(600)]),
    ],
)
def test_processes_merge_and_ask_at_once(tmp_path: Path, processes: int, seconds: float) -> None:
    database = tmp_path / "scratch.duckdb"
    Store.open(database, scratch=True).close()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        arguments = ([database] * processes, range(processes), [seconds] * processes)
        total = sum(pool.map(merges, *arguments))
    assert total >= processes
    assert rows(database) == total * ROWS
