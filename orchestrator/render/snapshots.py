"""Snapshots as they are taken, listed and restored."""

import json
from collections.abc import Sequence
from pathlib import Path

from orchestrator.render.tables import print_line, print_table
from orchestrator.store.health.restore import Restored
from orchestrator.store.health.snapshots import Snapshot
from orchestrator.units import format_size

COLUMNS = ("snapshot", "taken", "runs", "results", "size", "commit")
COMMIT_SHOWN = 12


def print_taken(snapshot: Snapshot, *, as_json: bool) -> None:
    """A new one, and the way back to it."""
    if as_json:
        print_line(json.dumps(_data(snapshot), indent=2))
        return
    size = format_size(snapshot.manifest.size_bytes)
    print_line(
        f"snapshot {snapshot.folder.name}: {_rows(snapshot, 'benchmark_results')} results, {size}"
    )
    print_line(f"database: {snapshot.database}")


def print_snapshots(snapshots: Sequence[Snapshot], *, as_json: bool) -> None:
    """All there are, the newest first."""
    if as_json:
        print_line(json.dumps([_data(each) for each in snapshots], indent=2))
    elif snapshots:
        print_table(COLUMNS, [_row(each) for each in snapshots])
    else:
        print_line("no snapshot yet")


def print_restored(restored: Restored, database: Path, *, as_json: bool) -> None:
    """What is the database now, and where what it was lies."""
    if as_json:
        data = {
            "database": str(database),
            "snapshot": _data(restored.snapshot),
            "kept": _data(restored.kept) if restored.kept else None,
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


def _data(snapshot: Snapshot) -> dict[str, object]:
    return {"folder": str(snapshot.folder), **snapshot.manifest.model_dump(mode="json")}
