"""Synthetic results to measure the store with."""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from performance.merging import merge
from performance.synthetic import DURATIONS, synthesise

ROWS = 1_000_000
SEED = 7


def requested_rows(description: str | None) -> int:
    """The number of results that the command line asks for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rows", type=int, default=ROWS, help=f"results [default: {ROWS:,}]")
    rows: int = parser.parse_args().rows
    return rows


def make_results(folder: Path, rows: int, first: int = 0) -> Path:
    """A folder with that many results, from the `first` that the seed makes on."""
    print(f"making {rows:,} results with {DURATIONS} raw durations each", flush=True)
    for _ in synthesise(folder, rows, SEED, first=first):
        pass
    return folder


@contextmanager
def merged(rows: int) -> Iterator[tuple[Path, Path]]:
    """A scratch database with that many results, and the folder of their records, for a while."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "scratch.duckdb")
        records = make_results(Path(folder, "records"), rows)
        merge(records, database, rows, scratch=True)
        yield database, records
