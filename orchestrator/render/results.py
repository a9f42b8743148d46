"""A run's results at its end, and the state of runs."""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from orchestrator.defaults import DATABASE_NAME, RESULTS
from orchestrator.render.tables import print_line, print_table
from orchestrator.store import ResultRow, RunSummary

NEXT = (
    'query "SELECT model, precision, batch_size, latency_median_ms FROM benchmark_performance"',
    'query "SELECT model, hardware, AVG(throughput) FROM benchmark_performance GROUP BY ALL"',
    "bench --model bert-tiny --batch-sizes 1,2,4,8",
)
COLUMNS = ("cell", "status", "median ms", "p90 ms", "samples/s", "load s", "peak MB", "proof")


def print_results(rows: Sequence[ResultRow], run_id: str, database: Path, *, as_json: bool) -> None:
    """The run's verdicts, where they are kept and what to do next."""
    if as_json:
        data = {
            "run_id": run_id,
            "database": str(database),
            "results": [asdict(row) for row in rows],
        }
        print_line(json.dumps(data, indent=2))
        return
    print_table(COLUMNS, [_cells(row) for row in rows])
    print_line()
    for row in rows:
        if remark := _remark(row):
            print_line(f"{row.cell_id}: {remark}")
    counts = Counter(row.status for row in rows)
    print_line(f"run {run_id}: " + ", ".join(f"{n} {status}" for status, n in counts.items()))
    print_line(f"database: {database}")
    print_line("next:")
    named = shlex.quote(str(database))
    option = "" if database == RESULTS / DATABASE_NAME else f" --database {named}"
    for command in NEXT:
        print_line(f"  {_own_name()} {command}{option}")


def print_runs(runs: Sequence[RunSummary], *, as_json: bool) -> None:
    """The runs in the database, the newest first."""
    if as_json:
        data = [asdict(run) | {"counts": dict(run.counts)} for run in runs]
        print_line(json.dumps(data, indent=2, default=str))
        return
    rows = [
        (
            run.run_id,
            f"{run.started_at:%Y-%m-%d %H:%M}",
            run.planned,
            ", ".join(f"{count} {status}" for status, count in run.counts.items()),
        )
        for run in runs
    ]
    print_table(("run", "started", "planned", "verdicts"), rows)


def _remark(row: ResultRow) -> str:
    """What a reader must know before quoting this row."""
    if row.status != "ok":
        return f"{row.status}: {row.reason}"
    return "; ".join(row.warnings or [])


def _own_name() -> str:
    """How this command was called, so that what is shown can be typed: the path of a script."""
    name = sys.argv[0]
    return (
        name if name.endswith("/orchestrator") and not Path(name).is_absolute() else "orchestrator"
    )


def _cells(row: ResultRow) -> tuple[object, ...]:
    return (
        row.cell_id,
        row.status,
        row.latency_median_ms,
        row.latency_p90_ms,
        row.throughput,
        row.load_time_s,
        row.memory_mb,
        row.proof,
    )
