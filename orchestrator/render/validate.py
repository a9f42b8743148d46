"""What is wrong with a database, and what was done about it."""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from orchestrator.render.tables import print_line, print_table
from orchestrator.store.health.fix import Validation
from orchestrator.store.health.validate import Finding
from orchestrator.units import plural

COLUMNS = ("check", "severity", "source", "rows", "what to do")
SHOWN = 2
"""Examples of each finding; as JSON there are more."""


def print_validation(found: Validation, database: Path, *, as_json: bool) -> None:
    """Every finding with some of its rows, what was done, and how it ended."""
    if as_json:
        print_line(json.dumps(_data(found, database), indent=2, ensure_ascii=False))
        return
    if found.findings:
        print_table(COLUMNS, [_row(finding) for finding in found.findings])
        print_line()
    for finding in found.findings:
        for example in finding.examples[:SHOWN]:
            print_line(f"{finding.check}: {example}")
    for check, rows in found.mended.items():
        print_line(f"mended: {_rows(rows)}, {check}")
    if found.quarantined:
        print_line(f"put into quarantine: {_rows(found.quarantined)}")
    if found.backup:
        print_line(f"as it was before: {found.backup}")
    print_line(f"{database}: {_summary(found)}")


def _data(found: Validation, database: Path) -> dict[str, object]:
    return {
        "database": str(database),
        "clean": not found.errors,
        "findings": [asdict(finding) for finding in found.findings],
        "mended": dict(found.mended),
        "quarantined": found.quarantined,
        "backup": str(found.backup) if found.backup else None,
    }


def _row(finding: Finding) -> tuple[object, ...]:
    return (finding.check, finding.severity, finding.source, finding.rows, finding.remedy)


def _rows(count: int) -> str:
    return f"{count:,} {plural(count, 'row')}"


def _summary(found: Validation) -> str:
    counts = Counter(finding.severity for finding in found.findings)
    told = [
        f"{counts[severity]} {plural(counts[severity], severity)}"
        for severity in ("error", "warning", "note")
        if counts[severity]
    ]
    clean = "" if found.errors else "clean"
    return ", ".join(filter(None, (clean, *told)))
