"""What became of imported files."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from orchestrator.imports.verdict import Verdict
from orchestrator.render.tables import print_line, print_table
from orchestrator.store import MergeReport

COLUMNS = ("file", "format", "records", "simulated", "failures", "outcome")


def print_import(
    verdicts: Sequence[Verdict], report: MergeReport | None, database: Path, *, as_json: bool
) -> None:
    """Every file with its outcome, and what the database took; None for a dry run."""
    if as_json:
        print_line(json.dumps([_data(verdict) for verdict in verdicts], indent=2))
        return
    print_table(COLUMNS, [_row(verdict) for verdict in verdicts])
    print_line()
    for verdict in verdicts:
        for fault in verdict.reading.faults:
            print_line(f"{verdict.path}: left out: {fault}")
    kinds = Counter(verdict.kind for verdict in verdicts)
    print_line(", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    if report is None:
        print_line("nothing was written: a dry run")
        return
    print_line(f"{report.inserted} records added, {report.unchanged} were there")
    print_line(f"database: {database}")


def _row(verdict: Verdict) -> tuple[object, ...]:
    found = verdict.reading.found
    counts = (
        (len(found), sum(each.simulated for each in found), sum(each.status != "ok" for each in found))
        if found
        else (None, None, None)
    )
    return (str(verdict.path), verdict.format, *counts, verdict.outcome)


def _data(verdict: Verdict) -> dict[str, object]:
    names = ("file", "format", "records", "simulated", "failures", "outcome")
    values = dict(zip(names, _row(verdict), strict=True))
    return values | {
        "faults": list(verdict.reading.faults),
        "empty": list(verdict.reading.empty),
        "sha256": verdict.sha256,
    }
