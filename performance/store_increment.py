"""Cost of merging one new run as the database grows: it should follow the run's size alone.

Runs of 500 results, each in one file, are merged into ever larger databases, and what a run takes
there is divided by what it takes in the smallest.
"""

import json
import statistics
import tempfile
from pathlib import Path

from orchestrator.store import Store
from performance.comparison import seconds
from performance.scratch_results import make_results, requested_rows
from performance.synthetic import CELLS_A_RUN

RUNS = 5
STEPS = (100, 10, 1)
"""The sizes are these parts of the rows that were asked for."""
LIMIT = 2.0


def main() -> None:
    """Measure and print."""
    rows = requested_rows(__doc__)
    sizes = [rows // step for step in STEPS]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database, there = folder / "scratch.duckdb", 0
        curve = {}
        for size in sizes:
            merge(make_results(folder / f"up-to-{size}", size - there, there), database)
            there = size
            curve[size] = [seconds_of_a_run(folder, database, rows, size, n) for n in range(RUNS)]
    report(curve)


def seconds_of_a_run(folder: Path, database: Path, rows: int, size: int, number: int) -> float:
    """One new run more; the first of them comes to a database that was written just before."""
    first = rows + (STEPS.index(rows // size) * RUNS + number) * CELLS_A_RUN
    run = make_results(folder / f"run-{first}", CELLS_A_RUN, first)
    return seconds(lambda: merge(run, database))


def merge(records: Path, database: Path) -> None:
    """Open, merge and close, as the end of a run does."""
    with Store.open(database, scratch=True) as store:
        report = store.merge([records])
    report.require_complete()
    if not report.inserted:
        raise SystemExit("the run was there already")


def report(curve: dict[int, list[float]]) -> None:
    """Print the curve, then one line of JSON."""
    medians = {size: statistics.median(times) for size, times in curve.items()}
    smallest = min(medians)
    print(f"one new run of {CELLS_A_RUN} results, median of {RUNS}")
    for size, median in medians.items():
        ratio = median / medians[smallest]
        print(f"into {size:>9,} results  {median:.3f} s  {ratio:.2f} times the smallest")
    ratio = medians[max(medians)] / medians[smallest]
    print(f"ratio  {ratio:.2f} (at most {LIMIT:g})")
    data = {"measurement": "store_increment", "ratio": round(ratio, 3), "limit": LIMIT}
    print(json.dumps({**data, "seconds": curve}), flush=True)


if __name__ == "__main__":
    main()
