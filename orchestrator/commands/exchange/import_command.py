"""`import`: results of other benchmarks; what became of the files and of their records."""

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import typer

from analysis.results.table import Field, wrapping
from orchestrator.commands.options.common import DatabaseChoice, command_line
from orchestrator.commands.program.command import Command
from orchestrator.exchange.bundles.check import has_manifest
from orchestrator.exchange.bundles.foreign import is_database
from orchestrator.exchange.imports.document import files_in
from orchestrator.exchange.imports.entry import Format
from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.formats.mapping import MappedFormat
from orchestrator.exchange.imports.importing import (
    ImportReport,
    Removal,
    import_files,
    preview_import,
    remove_sources,
)
from orchestrator.exchange.imports.outcome import FileOutcome, OutcomeKind, read_files
from orchestrator.running.run_file import RUN_FILE
from orchestrator.screen.lines import print_data, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.system.files import DATABASE_NAME
from orchestrator.system.options import Json, seconds_parser
from orchestrator.system.text import plural
from runner.contract.errors import NothingToDo, UsageError

_COUNTS = ("records", "simulated", "failed")
_COUNTED = ("format", *_COUNTS)
"""Columns of files that are shown where a file has a value."""
_SHOWN = 20
_KINDS: dict[OutcomeKind, str] = {
    "records": "with records",
    "same content": "with the same content as another",
    "no measurement": "without a measurement",
    "not recognised": "not recognised",
}


@dataclass(frozen=True, kw_only=True)
class ImportCommand(DatabaseChoice, Command):
    """Import what other benchmarks measured. Importing twice adds nothing."""

    paths: Annotated[
        list[Path], typer.Argument(metavar="PATHS…", help="Files, or folders of them.")
    ]
    mapping: Annotated[
        Path | None, typer.Option(metavar="FILE", help="How any other CSV or JSON is to be read.")
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, and write nothing.")
    ] = False
    remove_source: Annotated[
        bool,
        typer.Option("--remove-source", help="Delete files whose every record the database holds."),
    ] = False
    older_than_s: Annotated[
        float | None,
        typer.Option(
            "--older-than",
            metavar="TIME",
            help="Of those, delete what is older, e.g. 30d.",
            parser=seconds_parser,
        ),
    ] = None
    json: Json = False

    def execute(self) -> int:
        if self.older_than_s is not None and not self.remove_source:
            raise typer.BadParameter(
                "says which files to delete, so it needs --remove-source", param_hint="--older-than"
            )
        done = import_results(self)
        print_import(
            done.outcomes, done.report, done.removals, self.database_file, as_json=self.json
        )
        if done.report.merged is not None:
            done.report.merged.require_complete()
        return int(done.has_refused)


@dataclass(frozen=True)
class ImportResult:
    """Outcomes of the files, and the effect on the database."""

    outcomes: tuple[FileOutcome, ...]
    report: ImportReport
    removals: Iterable[Removal]
    """Each source is deleted when its removal is asked for."""
    has_refused: bool
    """True if a named file was refused, or every file; folders may hold other files too."""


def import_results(request: ImportCommand) -> ImportResult:
    _require_foreign(request.paths)
    formats: Sequence[Format] = FORMATS
    if request.mapping is not None:
        formats = (MappedFormat.load(request.mapping),)
    files = files_in(request.paths, without=[] if request.mapping is None else [request.mapping])
    if not files:
        raise NothingToDo(
            f"{', '.join(map(str, request.paths))}: there is no file to import",
            hint="name files, or folders of them; hidden ones are left out",
        )
    outcomes, database = read_files(files, formats, request.paths), request.database_file
    if request.dry_run:
        report = preview_import(outcomes, database)
    else:
        report = import_files(outcomes, request.results, database, command_line())
    removals: Iterable[Removal] = ()
    if request.remove_source:
        removals = remove_sources(
            outcomes,
            None if request.dry_run else database,
            roots=request.paths,
            formats=formats,
            older_than_s=request.older_than_s,
        )
    refused = {outcome.path for outcome in outcomes if outcome.kind == "not recognised"}
    has_refused = len(refused) == len(outcomes) or not refused.isdisjoint(request.paths)
    return ImportResult(outcomes, report, removals, has_refused)


def _require_foreign(paths: Iterable[Path]) -> None:
    """Refuse what AccelMatrix itself wrote, which `merge` takes with all that is known of it."""
    for path in paths:
        if kind := _own_kind(path):
            raise UsageError(
                f"{path}: {kind}, and `import` reads what other benchmarks wrote",
                hint=f"`{shlex.join(['orchestrator', 'merge', str(path)])}`",
            )


def _own_kind(path: Path) -> str | None:
    if path.is_dir():
        runs = any((path / RUN_FILE).exists() for path in (path, *path.glob("[!.]*")))
        return "results of AccelMatrix" if runs or (path / DATABASE_NAME).exists() else None
    if is_database(path):
        return "a DuckDB database"
    if path.is_file() and has_manifest(path):
        return "a bundle of AccelMatrix"
    return "a Parquet file" if path.suffix == ".parquet" and path.is_file() else None


def print_import(
    outcomes: Sequence[FileOutcome],
    report: ImportReport,
    removals: Iterable[Removal],
    database: Path,
    *,
    as_json: bool,
) -> None:
    """Print every file with its outcome; files are deleted while `removals` is iterated."""
    if as_json:
        print_data(json.dumps(_data(outcomes, report, removals, database), indent=2))
        return
    _print_files(outcomes)
    print_line()
    distinct = [outcome for outcome in outcomes if outcome.kind != "same content"]
    faults = [f"{file.path}: {fault}" for file in distinct for fault in file.reading.faults]
    empty = [f"{file.path}: {location}" for file in distinct for location in file.reading.empty]
    _print_some("left out", faults)
    _print_some("without a value", empty)
    dry = report.merged is None
    for removal in removals:
        deed = "would be deleted" if dry else "deleted"
        result = f"{deed}: {removal.path}"
        if removal.kept is not None:
            result = f"kept: {removal.path}: {removal.kept}"
        print_line(_printable(result))
    kinds = Counter(outcome.kind for outcome in outcomes)
    counts = [f"{kinds[kind]} {words}" for kind, words in _KINDS.items() if kinds[kind]]
    print_line(f"{len(outcomes)} {plural(len(outcomes), 'file')}: {', '.join(counts)}")
    print_line(_format_records(outcomes, report))
    print_line("nothing was written: a dry run" if dry else f"database: {database}")


def _print_files(outcomes: Sequence[FileOutcome]) -> None:
    """A row for each file; counts that no file has are no column."""
    rows = [
        {name: _printable(cell) if isinstance(cell, str) else cell for name, cell in row.items()}
        for row in map(_row, outcomes)
    ]
    counts = [name for name in _COUNTED if any(row[name] is not None for row in rows)]
    heads: list[str | Field] = [*wrapping("file"), *counts, *wrapping("outcome")]
    print_lines(heads, [[row[name] for name in ("file", *counts, "outcome")] for row in rows])


def _printable(text: str) -> str:
    """Escape everything that is not printable: names and content are somebody else's."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _print_some(heading: str, lines: Sequence[str]) -> None:
    for line in lines[:_SHOWN]:
        print_line(f"{heading}: {_printable(line)}")
    if len(lines) > _SHOWN:
        print_line(f"{heading}: and {len(lines) - _SHOWN} more; --json has them all")


def _format_records(outcomes: Sequence[FileOutcome], report: ImportReport) -> str:
    counts = _counts(outcomes)
    would = "would be " if report.merged is None else ""
    changes = [f"{report.added} {would}added", f"{report.there} already there"]
    if report.replaced:
        changes.append(f"{report.replaced} {would}replaced, since they are read otherwise now")
    if report.gone:
        changes.append(f"{report.gone} {would}removed, since they are no longer read")
    if report.quarantined:
        changes.append(
            f"{report.quarantined} left out, since `database check --fix` took them out before"
        )
    records = f"{counts['records']} {plural(counts['records'], 'record')}"
    return (
        f"{records}, {counts['simulated']} of them simulated and"
        f" {counts['failed']} failed: {', '.join(changes)}"
    )


def _counts(outcomes: Sequence[FileOutcome]) -> Counter[str]:
    measurements = [
        measurement
        for outcome in outcomes
        if outcome.kind == "records"
        for measurement in outcome.reading.measurements
    ]
    return Counter(
        records=len(measurements),
        simulated=sum(measurement.simulated for measurement in measurements),
        failed=sum(measurement.status != "ok" for measurement in measurements),
    )


def _row(outcome: FileOutcome) -> dict[str, object]:
    counts = _counts([outcome]) if outcome.kind == "records" else {}
    row = {"file": str(outcome.path), "format": outcome.format}
    return {**row, **{name: counts.get(name) for name in _COUNTS}, "outcome": outcome.summary}


def _data(
    outcomes: Sequence[FileOutcome],
    report: ImportReport,
    removals: Iterable[Removal],
    database: Path,
) -> dict[str, object]:
    kinds = Counter(outcome.kind for outcome in outcomes)
    return {
        "dry_run": report.merged is None,
        "database": str(database),
        "files": [_file_data(outcome, report) for outcome in outcomes],
        "kinds": {kind: kinds[kind] for kind in get_args(OutcomeKind)},
        **_counts(outcomes),
        "added": report.added,
        "replaced": report.replaced,
        "already_there": report.there,
        "removed": report.gone,
        "quarantined": report.quarantined,
        "sources": [_removal_data(removal, dry=report.merged is None) for removal in removals],
    }


def _removal_data(removal: Removal, *, dry: bool) -> dict[str, object]:
    goes = removal.kept is None
    deletion = {"deleted": False, "would_delete": goes} if dry else {"deleted": goes}
    return {"file": str(removal.path), **deletion, "kept": removal.kept}


def _file_data(outcome: FileOutcome, report: ImportReport) -> dict[str, object]:
    change = report.changes.get(outcome.run_id) if outcome.kind == "records" else None
    return {
        **_row(outcome),
        "kind": outcome.kind,
        "source": outcome.source,
        "sha256": outcome.sha256 or None,
        "run_id": outcome.run_id if change else None,
        "added": len(change.new) if change else None,
        "already_there": len(change.there) if change else None,
        "faults": list(outcome.reading.faults),
        "empty": list(outcome.reading.empty),
    }
