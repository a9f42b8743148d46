"""Answers of the commands of `database`, and stale files, as text or as JSON."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from analysis.results.table import Field, wrapping
from orchestrator.commands.database.maintain import MaintenanceReport
from orchestrator.commands.database.rebuild import Rebuilt
from orchestrator.commands.database.retention import StaleFile
from orchestrator.commands.exchange.merge import merged_data, print_merged
from orchestrator.screen.lines import print_data, print_json, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.store.health.fix import Validation
from orchestrator.store.health.snapshots import Restored, Snapshot
from orchestrator.system.text import format_size, plural

_SIZE = Field("size", essential=True, right=True)
_ON_DISK = replace(_SIZE, heading="on disk")
_Columns = tuple[str | Field, ...]
_RUN_COLUMNS: _Columns = (*wrapping("run"), "started", "verdicts", _ON_DISK)
_SNAPSHOT_COLUMNS: _Columns = (*wrapping("snapshot"), "taken", "runs", "results", _SIZE, "commit")
_FINDING_COLUMNS: _Columns = (
    *wrapping("check"),
    "severity",
    *wrapping("source"),
    "rows",
    *wrapping("what to do"),
)
_COMMIT_DIGITS = 12
_EXAMPLES = 2
"""Examples of each finding; as JSON there are more."""


def print_stale_files(files: Sequence[StaleFile], *, removed: bool, as_json: bool) -> None:
    if as_json:
        print_json(files)
        return
    if not files:
        print_line("there is nothing to remove")
        return
    rows = [(str(file.path), file.kind, format_size(file.size_bytes)) for file in files]
    print_lines((*wrapping("path"), "kind", _SIZE), rows)
    print_line()
    size = format_size(sum(file.size_bytes for file in files))
    remedy = "to remove: `orchestrator run --prepare-only --prune --yes` does"
    print_line(f"{len(files)}, together {size}, {'removed' if removed else remedy}")


def print_maintained(report: MaintenanceReport, *, as_json: bool) -> None:
    if as_json:
        print_data(json.dumps(asdict(report), indent=2, default=str))
        return
    if report.runs:
        _print_runs(report)
    for run in report.compact:
        before, after = run.compaction.bytes_before, run.compaction.bytes_after
        result = "would become one" if after is None else f"are now {format_size(after)}"
        files = f"{run.compaction.files} record files of {format_size(before)}"
        print_line(f"{run.run_id}: {files} {result}")
    for left in report.left:
        print_line(f"{left.run_id}: left alone: {left.reason}")
    if kept := report.bisections:
        runs = f"{kept.runs} {plural(kept.runs, 'run')} of `regress --bisect`"
        print_line(f"bisections: {runs}, {format_size(kept.size_bytes)}")
    if (sizes := report.tidied) is None:
        print_line("nothing was changed: a dry run")
    else:
        rewritten = ", written anew" if sizes.rewritten else ""
        size = format_size(sizes.bytes_after)
        print_line(f"database: {format_size(sizes.bytes_before)} before, now {size}{rewritten}")


def _print_runs(report: MaintenanceReport) -> None:
    rows = [
        (
            run.run_id,
            f"{run.started_at:%Y-%m-%d %H:%M}",
            run.verdicts,
            format_size(run.size_bytes) if run.path else None,
        )
        for run in report.runs
    ]
    print_lines(_RUN_COLUMNS, rows)
    print_line()
    bisected = sum(run.bisection for run in report.runs)
    of_them = f" ({bisected} of bisections)" if bisected else ""
    runs = f"{len(rows)} {plural(len(rows), 'run')}{of_them}"
    print_line(f"{runs} dropped" if report.dropped else f"{runs} to drop; `--yes` does it")


def print_snapshot(snapshot: Snapshot, *, as_json: bool) -> None:
    if as_json:
        print_json(_snapshot_data(snapshot))
        return
    results = snapshot.manifest.rows.get("benchmark_results", 0)
    size = format_size(snapshot.manifest.size_bytes)
    print_line(f"snapshot {snapshot.folder.name}: {results} results, {size}")
    print_line(f"database: {snapshot.database}")


def print_snapshots(snapshots: Sequence[Snapshot], *, as_json: bool) -> None:
    if as_json:
        print_json([_snapshot_data(snapshot) for snapshot in snapshots])
    elif snapshots:
        print_lines(_SNAPSHOT_COLUMNS, [_snapshot_row(snapshot) for snapshot in snapshots])
    else:
        print_line("no snapshot yet")


def print_restored(report: Restored, database: Path, *, as_json: bool) -> None:
    if as_json:
        kept = report.kept and _snapshot_data(report.kept)
        data = {"database": database, "snapshot": _snapshot_data(report.snapshot)}
        print_json({**data, "kept": kept, "aside": report.aside})
        return
    print_line(f"{database} is now as it was in {report.snapshot.folder.name}")
    if report.kept:
        print_line(f"before: kept as snapshot {report.kept.folder.name}")
    if report.aside:
        print_line(f"before: could not be opened, and lies in {report.aside}")


def print_rebuilt(rebuilt: Rebuilt, database: Path, *, as_json: bool) -> None:
    lost, aside = rebuilt.takeover.lost, rebuilt.takeover.aside
    if as_json:
        print_json({**merged_data(rebuilt.merged, database), "lost": lost, "aside": aside})
        return
    print_merged(rebuilt.merged, database, as_json=False)
    if aside:
        results = "what it held" if lost is None else f"{lost:,} {plural(lost, 'result')}"
        print_line(f"no file holds {results} of the former database, which lies in {aside}")


def _snapshot_row(snapshot: Snapshot) -> list[object]:
    manifest = snapshot.manifest
    return [
        snapshot.folder.name,
        f"{manifest.taken_at:%Y-%m-%d %H:%M}",
        *(manifest.rows.get(table, 0) for table in ("benchmark_runs", "benchmark_results")),
        format_size(manifest.size_bytes),
        manifest.git_commit[:_COMMIT_DIGITS] if manifest.git_commit else None,
    ]


def _snapshot_data(snapshot: Snapshot) -> dict[str, object]:
    return {**snapshot.manifest.model_dump(), "folder": snapshot.folder}


def print_validation(report: Validation, database: Path, *, as_json: bool) -> None:
    if as_json:
        data = {"database": database, "clean": not report.errors, "findings": report.findings}
        rest = {"mended": report.mended, "quarantined": report.quarantined}
        print_json({**data, **rest, "backup": report.backup})
        return
    if report.findings:
        rows = [
            (finding.check, finding.severity, finding.source, finding.rows, finding.remedy)
            for finding in report.findings
        ]
        print_lines(_FINDING_COLUMNS, rows)
        print_line()
    for finding in report.findings:
        for example in finding.examples[:_EXAMPLES]:
            print_line(f"{finding.check}: {example}")
    for check, count in report.mended.items():
        print_line(f"mended: {_count_rows(count)}, {check}")
    if report.quarantined:
        print_line(f"put into quarantine: {_count_rows(report.quarantined)}")
    if report.backup:
        print_line(f"as it was before: {report.backup}")
    print_line(f"{database}: {_summary(report)}")


def _count_rows(count: int) -> str:
    return f"{count:,} {plural(count, 'row')}"


def _summary(report: Validation) -> str:
    counts = Counter(finding.severity for finding in report.findings)
    numbers = [
        f"{counts[severity]} {plural(counts[severity], severity)}"
        for severity in ("error", "warning", "note")
        if counts[severity]
    ]
    return ", ".join(numbers if report.errors else ["clean", *numbers])
