"""What a merge did."""

import json
from pathlib import Path

from orchestrator.render.tables import print_line
from orchestrator.store import MergeReport


def print_merged(report: MergeReport, database: Path, *, as_json: bool) -> None:
    """How many records were new, newer or known; as JSON with what was left out."""
    counts = {
        "inserted": report.inserted,
        "replaced": report.replaced,
        "unchanged": report.unchanged,
        **({"in quarantine": report.quarantined} if report.quarantined else {}),
    }
    if not as_json:
        told = ", ".join(f"{count} {word}" for word, count in counts.items())
        print_line(f"{told}: nothing was merged into {database}" if report.is_empty else told)
        return
    damaged = [{"file": str(each.path), "reason": each.reason} for each in report.damaged]
    print_line(json.dumps(counts | {"damaged": damaged, "refused": report.refused}, indent=2))
