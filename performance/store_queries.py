"""Time of the views and the questions of docs/ask.md, none of which may read raw durations.

Each view answers three questions: its newest page, a count over all of it, and one model's rows.
Answers come as `orchestrator query` gets them: the database is opened anew for each.
"""

import json
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

from orchestrator.store import query
from orchestrator.store.schema.tables import RAW
from orchestrator.store.schema.views import VIEWS
from performance.comparison import seconds
from performance.scratch_results import merged, requested_rows

ROUNDS = 3
LIMIT_S = 1.0
PAGE = Path(__file__).parents[1] / "docs" / "ask.md"
NEWEST = "SELECT * FROM {view} ORDER BY {time} DESC LIMIT 100"
COUNTED = "SELECT backend, model, count(*) FROM {view} GROUP BY backend, model"
ONE_MODEL = "SELECT * FROM {view} WHERE model = 'bert-tiny' AND backend = 'cpu' LIMIT 1000"


def main() -> None:
    """Measure and print."""
    rows = requested_rows(__doc__)
    with merged(rows) as (database, _):
        times = {name: measure(database, sql) for name, sql in questions()}
        scanned = [name for name, sql in questions() if reads_raw(database, sql)]
    report(times, scanned)


def questions() -> Iterator[tuple[str, str]]:
    """The queries, by a short name."""
    for view in VIEWS:
        names = [column.name for column in view.columns]
        time = next(name for name in ("measured_at", "recorded_at") if name in names)
        yield f"{view.name}: newest page", NEWEST.format(view=view.name, time=time)
        yield f"{view.name}: counted", COUNTED.format(view=view.name)
        yield f"{view.name}: one model", ONE_MODEL.format(view=view.name)
    for title, sql in re.findall(r"## (.*?)\n.*?```sql\n(.*?)```", PAGE.read_text(), re.DOTALL):
        yield f"ask.md: {title}", sql


def measure(database: Path, sql: str) -> float:
    """Seconds, the median of some rounds."""
    return statistics.median(seconds(lambda: query(database, sql)) for _ in range(ROUNDS))


def reads_raw(database: Path, sql: str) -> bool:
    """True if the plan scans raw durations although the question names none."""
    plan = str(query(database, f"EXPLAIN {sql}").to_pylist())
    return RAW.name in plan and RAW.name not in sql


def report(times: dict[str, float], scanned: list[str]) -> None:
    """Print every question, then one line of JSON."""
    width = max(map(len, times))
    for name, taken_s in times.items():
        slow = "  too slow" if taken_s > LIMIT_S else ""
        print(f"{name:<{width}}  {taken_s:.3f} s{slow}")
    slowest = max(times, key=lambda name: times[name])
    print(f"slowest  {times[slowest]:.3f} s, {slowest} (at most {LIMIT_S:g} s)")
    print(f"needless scans of raw durations  {len(scanned)} {' '.join(scanned)}")
    data = {"measurement": "store_queries", "limit_s": LIMIT_S, "seconds": times}
    print(json.dumps({**data, "raw_scanned": scanned}), flush=True)


if __name__ == "__main__":
    main()
