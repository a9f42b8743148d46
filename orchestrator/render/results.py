"""A run's results at its end, and the state of runs."""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from orchestrator.defaults import DATABASE_NAME, RESULTS
from orchestrator.render.remarks import remarks
from orchestrator.render.tables import print_line, print_table
from orchestrator.store import ResultRow, RunSummary

NEXT = (
    'query "SELECT model, precision, batch_size, latency_median_ms FROM benchmark_performance"',
    'query "SELECT model, hardware, AVG(throughput) FROM benchmark_performance GROUP BY ALL"',
    "bench --model bert-tiny --batch-sizes 1,2,4,8",
)
COLUMNS = (
    *("cell", "status", "median ms", "± %", "p90 ms", "p99 ms", "samples/s", "peak MB"),
    *("grade", "proof", "correct"),
)
"""`tokens/s` stands behind `samples/s` where a cell generates."""


def print_results(
    rows: Sequence[ResultRow],
    run_id: str,
    database: Path,
    *,
    as_json: bool,
    traces: Sequence[Path] = (),
) -> None:
    """The run's verdicts, where they are kept and what to do next."""
    if as_json:
        data = {
            "run_id": run_id,
            "database": str(database),
            "results": [asdict(row) for row in rows],
            "traces": [str(path) for path in traces],
        }
        print_line(json.dumps(data, indent=2))
        return
    _print_table(rows)
    print_line()
    for line in remarks(rows):
        print_line(line)
    if traces:
        print_line(_where(traces))
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


def _where(traces: Sequence[Path]) -> str:
    beside = "the heaviest operators lie beside it in .operators.txt"
    if len(traces) == 1:
        return f"trace: {traces[0]}; {beside}"
    return f"{len(traces)} traces: {traces[0].parents[1]}/*/*.trace.json; {beside}"


def _own_name() -> str:
    """How this command was called, so that what is shown can be typed: the path of a script."""
    name = sys.argv[0]
    return (
        name if name.endswith("/orchestrator") and not Path(name).is_absolute() else "orchestrator"
    )


def _print_table(rows: Sequence[ResultRow]) -> None:
    generates = any(row.token_throughput is not None for row in rows)
    place = COLUMNS.index("samples/s") + 1
    heads, lines = list(COLUMNS), [_cells(row) for row in rows]
    if generates:
        heads.insert(place, "tokens/s")
        for line, row in zip(lines, rows, strict=True):
            line.insert(place, row.token_throughput)
    print_table(heads, lines)


def _cells(row: ResultRow) -> list[object]:
    precision = row.latency_precision
    return [
        row.cell_id,
        row.status,
        row.latency_median_ms,
        None if precision is None else precision * 100,
        row.latency_p90_ms,
        row.latency_p99_ms,
        row.throughput,
        row.memory_mb,
        row.grade,
        row.proof,
        None if row.correct is None else "yes" if row.correct else "no",
    ]
