"""`import`: results that others measured."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.options import database_in
from orchestrator.defaults import RESULTS


def import_(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATHS…", help="Files, or folders of them.")
    ],
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--mapping", metavar="FILE", help="How any other CSV or JSON is to be read; docs/import.md."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen.")] = False,
    remove_source: Annotated[
        bool,
        typer.Option(
            "--remove-source", help="Delete files whose every record the database holds."
        ),
    ] = False,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="TIME", help="Delete those alone, e.g. 30d."),
    ] = None,
    results: options.Results = RESULTS,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Import what other benchmarks measured. Importing twice adds nothing."""
    from orchestrator.cli.boundary import command_line
    from orchestrator.imports.bring import bring, judge_all
    from orchestrator.imports.formats.mapping import Mapped
    from orchestrator.imports.registry import FORMATS
    from orchestrator.imports.removal import remove_sources
    from orchestrator.render.imports import print_import

    formats = FORMATS if mapping is None else (Mapped.load(mapping),)
    verdicts = judge_all(paths, formats)
    path = database_in(results, database)
    report = None if dry_run else bring(verdicts, results, path, command_line())
    print_import(verdicts, report, path, as_json=json)
    if report is not None:
        report.require_complete()
    if remove_source and not dry_run:
        remove_sources(verdicts, path, older_than)
