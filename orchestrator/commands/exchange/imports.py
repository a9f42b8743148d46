"""Import of other benchmarks' results: read the files, merge their records, delete the sources."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.exchange.bundles import has_manifest, is_database
from orchestrator.exchange.imports.document import files_in
from orchestrator.exchange.imports.entry import Format
from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.formats.mapping import MappedFormat
from orchestrator.exchange.imports.importing import ImportReport, import_files, preview_import
from orchestrator.exchange.imports.outcome import FileOutcome, read_files
from orchestrator.exchange.imports.removal import (
    Removal,
    RemovalTerms,
    preview_removal,
    remove_sources,
)
from orchestrator.running.run_file import RUN_FILE
from orchestrator.system.files import DATABASE_NAME
from runner.contract.errors import NothingToDo, UsageError


@dataclass(frozen=True)
class ImportRequest:
    """The files to import and the destination of their records."""

    paths: Sequence[Path]
    results: Path
    database: Path
    command: str
    """The command line, for the description of the import."""
    mapping: Path | None = None
    """Mapping file in which to read the files; None: the known formats are tried."""
    dry_run: bool = False
    remove_source: bool = False
    older_than_s: float | None = None
    """Minimum age in seconds of a source to be deleted; None for no limit."""


@dataclass(frozen=True)
class ImportResult:
    """Outcomes of the files, and the effect on the database."""

    outcomes: tuple[FileOutcome, ...]
    report: ImportReport
    removals: Iterable[Removal]
    """Each source is deleted when its removal is asked for."""
    has_refused: bool
    """True if a named file was refused, or every file; folders may hold other files too."""


def import_results(request: ImportRequest) -> ImportResult:
    """Import the files, or preview it."""
    _require_foreign(request.paths)
    formats: Sequence[Format] = FORMATS
    if request.mapping is not None:
        formats = (MappedFormat.load(request.mapping),)
    outcomes = read_files(_files(request), formats, request.paths)
    if request.dry_run:
        report = preview_import(outcomes, request.database)
    else:
        report = import_files(outcomes, request.results, request.database, request.command)
    refused = {outcome.path for outcome in outcomes if outcome.kind == "not recognised"}
    has_refused = len(refused) == len(outcomes) or not refused.isdisjoint(request.paths)
    return ImportResult(outcomes, report, _removals(request, outcomes, formats), has_refused)


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


def _files(request: ImportRequest) -> list[Path]:
    files = files_in(request.paths, without=[] if request.mapping is None else [request.mapping])
    if not files:
        raise NothingToDo(
            f"{', '.join(map(str, request.paths))}: there is no file to import",
            hint="name files, or folders of them; hidden ones are left out",
        )
    return files


def _removals(
    request: ImportRequest, outcomes: Sequence[FileOutcome], formats: Sequence[Format]
) -> Iterable[Removal]:
    if not request.remove_source:
        return ()
    terms = RemovalTerms(request.paths, formats, request.older_than_s)
    if request.dry_run:
        return preview_removal(outcomes, terms)
    return remove_sources(outcomes, terms, request.database)
