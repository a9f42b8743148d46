"""`import`: results of other benchmarks."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import command_line, database_in
from orchestrator.system.files import RESULTS_FOLDER


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
    from orchestrator.commands.exchange.imports import ImportRequest, import_results
    from orchestrator.commands.exchange.imports_words import print_import

    age_s = _age_s(older_than, remove_source=remove_source)
    path = database_in(results, database)
    request = ImportRequest(
        paths, results, path, command_line(), mapping, dry_run, remove_source, age_s
    )
    done = import_results(request)
    print_import(done.outcomes, done.report, done.removals, path, as_json=json)
    if done.report.merged is not None:
        done.report.merged.require_complete()
    return int(done.has_refused)


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
