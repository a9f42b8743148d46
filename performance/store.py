"""The store as it grows: merges that follow the run's size alone, and quick questions.

Runs of 500 results, each in one file, are merged into ever larger scratch databases; into the
largest a merge may take twice as long as into the smallest. There the views and the questions of
docs/ask.md are asked as `orchestrator query` asks them, from a database that is opened anew: each
within a second, and none may read raw durations that it does not name.
"""

import argparse
import json
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from orchestrator.store.query.ask import query
from orchestrator.store.schema.paired_view import PAIRED
from orchestrator.store.schema.tables import RAW
from orchestrator.store.schema.views import VIEWS
from performance.scratch import make_results, merge, seconds
from performance.synthetic import CELLS_A_RUN

ROWS = 1_000_000
PARTS = (100, 10, 1)
"""The databases have these parts of the rows."""
RUNS, ROUNDS = 5, 3
MOST_GROWTH, LIMIT_S = 2.0, 1.0
PAGE = Path(__file__).parents[1] / "docs" / "ask.md"
OF_A_VIEW: Mapping[str, str] = {
    "newest page": "SELECT * FROM {view} ORDER BY {time} DESC LIMIT 100",
    "counted": "SELECT backend, model, count(*) FROM {view} GROUP BY backend, model",
    "one model": "SELECT * FROM {view} WHERE model = 'bert-tiny' AND backend = 'cpu' LIMIT 1000",
}


def main() -> int:
    """Measure and print; 1 if a limit was passed."""
    parser = argparse.ArgumentParser(prog="performance store", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help=f"results [default: {ROWS:,}]")
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = folder / "scratch.duckdb"
        flat = report_merges(merge_seconds(folder, database, rows))
        return 0 if report_questions(database) and flat else 1


def merge_seconds(folder: Path, database: Path, rows: int) -> dict[int, float]:
    """The median seconds of one more run, by the results that are there."""
    there, medians = 0, {}
    for step, size in enumerate(rows // part for part in PARTS):
        merge(make_results(folder / f"up-to-{size}", size - there, there), database, size - there)
        there = size
        firsts = [rows + (step * RUNS + run) * CELLS_A_RUN for run in range(RUNS)]
        runs = [make_results(folder / f"from-{first}", CELLS_A_RUN, first) for first in firsts]
        medians[size] = statistics.median(
            seconds(lambda run=run: merge(run, database, CELLS_A_RUN))  # type: ignore[misc]
            for run in runs
        )
    return medians


def report_merges(medians: Mapping[int, float]) -> bool:
    """Print the curve; true if it is flat enough."""
    smallest, largest = min(medians), max(medians)
    for size, median in medians.items():
        print(f"{CELLS_A_RUN} results more into {size:>9,}  {median:.3f} s, median of {RUNS}")
    growth = medians[largest] / medians[smallest]
    print(f"ratio of the largest and the smallest  {growth:.2f} (at most {MOST_GROWTH:g})")
    data = {"measurement": "store", "growth": round(growth, 3), "seconds": medians}
    print(json.dumps(data), flush=True)
    return growth <= MOST_GROWTH


def questions() -> Iterator[tuple[str, str]]:
    """The queries, by a short name."""
    for view in VIEWS:
        if view is PAIRED:  # made of raw durations, it has neither a time nor a model
            continue
        names = [column.name for column in view.columns]
        time = next(name for name in ("measured_at", "recorded_at") if name in names)
        for title, sql in OF_A_VIEW.items():
            yield f"{view.name}: {title}", sql.format(view=view.name, time=time)
    for title, sql in re.findall(r"## (.*?)\n.*?```sql\n(.*?)```", PAGE.read_text(), re.DOTALL):
        yield f"ask.md: {title}", sql


def report_questions(database: Path) -> bool:
    """Print the seconds of each question; true if all are quick and read what they name."""
    times, scanned = {}, []
    for name, sql in questions():
        taken = [seconds(lambda sql=sql: query(database, sql)) for _ in range(ROUNDS)]  # type: ignore[misc]
        times[name] = statistics.median(taken)
        if not {RAW.name, PAIRED.name} & set(re.findall(r"\w+", sql)) and reads_raw(database, sql):
            scanned.append(name)
        print(f"{name}  {times[name]:.3f} s{'  too slow' if times[name] > LIMIT_S else ''}")
    slowest = max(times, key=lambda name: times[name])
    print(f"slowest  {times[slowest]:.3f} s, {slowest} (at most {LIMIT_S:g} s)")
    print(f"needless scans of raw durations  {len(scanned)} {' '.join(scanned)}")
    data = {"measurement": "store", "limit_s": LIMIT_S, "seconds": times, "raw_scanned": scanned}
    print(json.dumps(data), flush=True)
    return times[slowest] <= LIMIT_S and not scanned


def reads_raw(database: Path, sql: str) -> bool:
    """True if the plan of a question scans raw durations."""
    return RAW.name in str(query(database, f"EXPLAIN {sql}").to_pylist())


if __name__ == "__main__":
    sys.exit(main())
