"""A run's results at its end."""

import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator.app.measure.run import RunReport
from orchestrator.render.lines import print_json, print_line
from orchestrator.render.tables import print_table
from orchestrator.store import MergeReport, ResultRow
from orchestrator.system.files import DATABASE_NAME, RESULTS_FOLDER

_NUMBER = re.compile(r"\d[\d.,]*")


def remarks(rows: Sequence[ResultRow]) -> Iterator[str]:
    """One line per remark, with its cell or with how many cells it holds for.

    Remarks that differ in numbers alone are one line, with the numbers of the first.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        for remark in _of(row):
            groups.setdefault(_NUMBER.sub("#", remark), []).append((row.cell_id, remark))
    for alike in groups.values():
        first_cell, remark = alike[0]
        cells = {cell for cell, _ in alike}
        if len(cells) == 1:
            yield f"{first_cell}: {remark}"
            continue
        same = len({text for _, text in alike}) == 1
        such_as = "" if same else f", such as {first_cell}"
        yield f"{len(cells)} of {len(rows)} cells{such_as}: {remark}"


def _of(row: ResultRow) -> Iterator[str]:
    if row.status != "ok":
        yield f"{row.status}: {row.reason}"
        return
    if row.correct is False:
        yield f"not correct, so views leave it out: {row.correct_reason}"
    elif row.correct is None and row.correct_reason:
        yield row.correct_reason
    yield from row.grade_reasons or ()


_NEXT = (
    'query "SELECT cell_id, latency_median_ms, latency_precision, grade FROM latest_results"',
    'query "SELECT model, mode, scenario, AVG(throughput) FROM latest_results GROUP BY ALL"',
    "bench --model bert-tiny --batch-size 1,2,4,8",
)
RESULT_COLUMNS = (
    *("cell", "status", "median ms", "± %", "p90 ms", "p99 ms", "samples/s", "tokens/s"),
    *("peak q/s", "peak MB", "grade", "proof", "correct"),
)
"""Those that no row fills are left out, so that the others have room."""


def print_results(report: RunReport, *, as_json: bool) -> None:
    """Print the run's verdicts, where they are kept and what to do next."""
    if as_json:
        print_json(report)
        return
    rows, database = report.results, report.database
    _print_table(rows)
    print_line()
    for line in remarks(rows):
        print_line(line)
    if report.traces:
        print_line(_describe_traces(report.traces))
    counts = Counter(row.status for row in rows)
    counts["not correct"] = sum(row.correct is False for row in rows)
    summary = ", ".join(f"{n} {status}" for status, n in counts.items() if n)
    print_line(f"run {report.run_id}: {summary}")
    print_line(f"database: {database}")
    print_line("next:")
    named = shlex.quote(str(database))
    option = "" if database == RESULTS_FOLDER / DATABASE_NAME else f" --database {named}"
    for command in _NEXT:
        print_line(f"  {_own_name()} {command}{option}")


def _describe_traces(traces: Sequence[Path]) -> str:
    beside = "the heaviest operators lie beside it in .operators.txt"
    if len(traces) == 1:
        return f"trace: {traces[0]}; {beside}"
    return f"{len(traces)} traces: {traces[0].parents[1]}/*/*.trace.json; {beside}"


def _own_name() -> str:
    """The name by which this command was called, so that what is shown can be typed."""
    name = sys.argv[0]
    return (
        name if name.endswith("/orchestrator") and not Path(name).is_absolute() else "orchestrator"
    )


def _print_table(rows: Sequence[ResultRow]) -> None:
    lines = [_cells(row) for row in rows]
    filled = [
        index
        for index in range(len(RESULT_COLUMNS))
        if any(line[index] is not None for line in lines)
    ]
    heads = [RESULT_COLUMNS[index] for index in filled]
    print_table(heads, [[line[index] for index in filled] for line in lines])


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
        row.token_throughput,
        row.peak_qps,
        row.memory_mb,
        row.grade,
        row.proof,
        None if row.correct is None else "yes" if row.correct else "no",
    ]


def print_merged(report: MergeReport, database: Path, *, as_json: bool) -> None:
    """Print how many records were new, newer or known; as JSON with those left out."""
    counts = {
        "inserted": report.inserted,
        "replaced": report.replaced,
        "unchanged": report.unchanged,
        **({"in quarantine": report.quarantined} if report.quarantined else {}),
    }
    if not as_json:
        summary = ", ".join(f"{count} {word}" for word, count in counts.items())
        print_line(f"{summary}: nothing was merged into {database}" if report.is_empty else summary)
        return
    damaged = [{"file": file.path, "reason": file.reason} for file in report.damaged]
    left = {"damaged": damaged, "refused": report.refused, "contradicted": report.contradicted}
    print_json(counts | left)
