"""`import`: results of other benchmarks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.options import command_line, database_in
from orchestrator.system.files import RESULTS_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orchestrator.imports.outcome import FileOutcome
    from orchestrator.imports.reading import Format
    from orchestrator.imports.removal import Removal


def import_(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATHS…", help="Files, or folders of them.")
    ],
    mapping: Annotated[
        Path | None,
        typer.Option("--mapping", metavar="FILE", help="How any other CSV or JSON is to be read."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, and write nothing.")
    ] = False,
    remove_source: Annotated[
        bool,
        typer.Option("--remove-source", help="Delete files whose every record the database holds."),
    ] = False,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than", metavar="TIME", help="Of those, delete what is older, e.g. 30d."
        ),
    ] = None,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> int:
    """Import what other benchmarks measured. Importing twice adds nothing."""
    from orchestrator.imports.importing import import_files, preview_import
    from orchestrator.imports.outcome import read_files
    from orchestrator.imports.removal import RemovalTerms, preview_removal, remove_sources
    from orchestrator.render.imports import print_import

    age_s = _age_s(older_than, remove_source=remove_source)
    formats = _formats(mapping)
    outcomes = read_files(_files(paths, mapping), formats)
    path = database_in(results, database)
    report = (
        preview_import(outcomes, path)
        if dry_run
        else import_files(outcomes, results, path, command_line())
    )
    removals: Iterable[Removal] = ()
    if remove_source:
        terms = RemovalTerms(paths, formats, age_s)
        removals = (
            preview_removal(outcomes, terms) if dry_run else remove_sources(outcomes, terms, path)
        )
    print_import(outcomes, report, removals, path, as_json=json)
    if report.merged is not None:
        report.merged.require_complete()
    return _exit_code(outcomes, paths)


def _exit_code(outcomes: "Sequence[FileOutcome]", paths: list[Path]) -> int:
    """1 if a named file was refused, or every file; folders may hold other files too."""
    refused = [outcome.path for outcome in outcomes if outcome.kind == "not recognised"]
    return 1 if len(refused) == len(outcomes) or {*refused} & {*paths} else 0


def _age_s(older_than: str | None, *, remove_source: bool) -> float | None:
    from orchestrator.system.text import parse_duration

    if older_than is None:
        return None
    if not remove_source:
        raise typer.BadParameter(
            "says which files to delete, so it needs --remove-source", param_hint="--older-than"
        )
    try:
        return parse_duration(older_than)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--older-than") from error


def _formats(mapping: Path | None) -> "Sequence[Format]":
    from orchestrator.imports.formats import FORMATS
    from orchestrator.imports.formats.mapping import MappedFormat

    return FORMATS if mapping is None else (MappedFormat.load(mapping),)


def _files(paths: list[Path], mapping: Path | None) -> list[Path]:
    from orchestrator.imports.document import files_in
    from runner.contract.errors import NothingToDo

    files = files_in(paths, without=[] if mapping is None else [mapping])
    if not files:
        raise NothingToDo(
            f"{', '.join(map(str, paths))}: there is no file to import",
            hint="name files, or folders of them; hidden ones are left out",
        )
    return files
