"""What was, or would be, removed from the results folder, as a table or as JSON."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from orchestrator.app.results.maintain import Maintained
from orchestrator.app.results.stale_files import Leftover
from orchestrator.render.lines import print_line
from orchestrator.render.tables import print_table
from orchestrator.store import Compaction, Finding, Restored, Snapshot, Tidied, Validation
from orchestrator.system.text import format_size, plural


def print_leftovers(found: Sequence[Leftover], *, removed: bool, as_json: bool) -> None:
    """Everything with its size, then the sum."""
    if as_json:
        print_line(json.dumps([_data(each, removed=removed) for each in found], indent=2))
        return
    if not found:
        print_line("there is nothing to remove")
        return
    rows = [(str(each.path), each.kind, format_size(each.size_bytes)) for each in found]
    print_table(("path", "kind", "size"), rows)
    print_line()
    size = format_size(sum(each.size_bytes for each in found))
    deed = "removed" if removed else "to remove: `orchestrator prepare --prune --yes` does"
    print_line(f"{len(found)}, together {size}, {deed}")


def _data(each: Leftover, *, removed: bool) -> dict[str, object]:
    return {
        "kind": each.kind,
        "path": str(each.path),
        "size_bytes": each.size_bytes,
        "removed": removed,
    }


COLUMNS = ("run", "started", "verdicts", "on disk")


def print_maintained(done: Maintained, *, dropped: bool, as_json: bool) -> None:
    """The runs that went or would go, what was compacted, what was left, the database's size."""
    if as_json:
        print_line(json.dumps({"dropped": dropped, **asdict(done)}, indent=2, default=str))
        return
    if done.doomed:
        _print_doomed(done, dropped=dropped)
    for run in done.compact:
        print_line(f"{run.run_id}: {_compacted(run.compaction)}")
    for left in done.left:
        print_line(f"{left.run_id}: left alone: {left.reason}")
    if done.tidied is None:
        print_line("nothing was changed: a dry run")
    else:
        print_line(_tidied(done.tidied))


def _print_doomed(done: Maintained, *, dropped: bool) -> None:
    rows = [
        (
            run.run_id,
            f"{run.started_at:%Y-%m-%d %H:%M}",
            run.verdicts,
            format_size(run.size_bytes) if run.path else None,
        )
        for run in done.doomed
    ]
    print_table(COLUMNS, rows)
    print_line()
    runs = f"{len(rows)} runs" if len(rows) > 1 else "1 run"
    print_line(f"{runs} dropped" if dropped else f"{runs} to drop; `--yes` does it")


def _compacted(compaction: Compaction) -> str:
    before = f"{compaction.files} record files of {format_size(compaction.bytes_before)}"
    if compaction.bytes_after is None:
        return f"{before} would become one"
    return f"{before} are now {format_size(compaction.bytes_after)}"


def _tidied(tidied: Tidied) -> str:
    how = ", written anew" if tidied.rewritten else ""
    before, after = format_size(tidied.bytes_before), format_size(tidied.bytes_after)
    return f"database: {before} before, now {after}{how}"


COLUMNS_SNAPSHOTS = ("snapshot", "taken", "runs", "results", "size", "commit")
COMMIT_SHOWN = 12


def print_taken(snapshot: Snapshot, *, as_json: bool) -> None:
    """A new one, and the way back to it."""
    if as_json:
        print_line(json.dumps(_data_snapshots(snapshot), indent=2))
        return
    size = format_size(snapshot.manifest.size_bytes)
    print_line(
        f"snapshot {snapshot.folder.name}: {_rows(snapshot, 'benchmark_results')} results, {size}"
    )
    print_line(f"database: {snapshot.database}")


def print_snapshots(snapshots: Sequence[Snapshot], *, as_json: bool) -> None:
    """All there are, the newest first."""
    if as_json:
        print_line(json.dumps([_data_snapshots(each) for each in snapshots], indent=2))
    elif snapshots:
        print_table(COLUMNS_SNAPSHOTS, [_row(each) for each in snapshots])
    else:
        print_line("no snapshot yet")


def print_restored(restored: Restored, database: Path, *, as_json: bool) -> None:
    """What is the database now, and where what it was lies."""
    if as_json:
        data = {
            "database": str(database),
            "snapshot": _data_snapshots(restored.snapshot),
            "kept": _data_snapshots(restored.kept) if restored.kept else None,
            "aside": str(restored.aside) if restored.aside else None,
        }
        print_line(json.dumps(data, indent=2))
        return
    print_line(f"{database} is now as it was in {restored.snapshot.folder.name}")
    if restored.kept:
        print_line(f"before: kept as snapshot {restored.kept.folder.name}")
    if restored.aside:
        print_line(f"before: could not be opened, and lies in {restored.aside}")


def _row(snapshot: Snapshot) -> list[object]:
    manifest = snapshot.manifest
    return [
        snapshot.folder.name,
        f"{manifest.taken_at:%Y-%m-%d %H:%M}",
        _rows(snapshot, "benchmark_runs"),
        _rows(snapshot, "benchmark_results"),
        format_size(manifest.size_bytes),
        manifest.git_commit[:COMMIT_SHOWN] if manifest.git_commit else None,
    ]


def _rows(snapshot: Snapshot, table: str) -> int:
    return snapshot.manifest.rows.get(table, 0)


def _data_snapshots(snapshot: Snapshot) -> dict[str, object]:
    return {"folder": str(snapshot.folder), **snapshot.manifest.model_dump(mode="json")}


COLUMNS_VALIDATE = ("check", "severity", "source", "rows", "what to do")
SHOWN = 2
"""Examples of each finding; as JSON there are more."""


def print_validation(found: Validation, database: Path, *, as_json: bool) -> None:
    """Every finding with some of its rows, what was done, and how it ended."""
    if as_json:
        print_line(json.dumps(_data_validate(found, database), indent=2, ensure_ascii=False))
        return
    if found.findings:
        print_table(COLUMNS_VALIDATE, [_row_validate(finding) for finding in found.findings])
        print_line()
    for finding in found.findings:
        for example in finding.examples[:SHOWN]:
            print_line(f"{finding.check}: {example}")
    for check, rows in found.mended.items():
        print_line(f"mended: {_rows_validate(rows)}, {check}")
    if found.quarantined:
        print_line(f"put into quarantine: {_rows_validate(found.quarantined)}")
    if found.backup:
        print_line(f"as it was before: {found.backup}")
    print_line(f"{database}: {_summary(found)}")


def _data_validate(found: Validation, database: Path) -> dict[str, object]:
    return {
        "database": str(database),
        "clean": not found.errors,
        "findings": [asdict(finding) for finding in found.findings],
        "mended": dict(found.mended),
        "quarantined": found.quarantined,
        "backup": str(found.backup) if found.backup else None,
    }


def _row_validate(finding: Finding) -> tuple[object, ...]:
    return (finding.check, finding.severity, finding.source, finding.rows, finding.remedy)


def _rows_validate(count: int) -> str:
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
