"""`import`: results of other benchmarks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.commands.options.common import DatabaseChoice, command_line
from orchestrator.commands.program.command import Command
from orchestrator.system.options import Json, seconds_parser


@dataclass(frozen=True, kw_only=True)
class ImportCommand(DatabaseChoice, Command):
    """Import what other benchmarks measured. Importing twice adds nothing."""

    paths: Annotated[
        list[Path], typer.Argument(metavar="PATHS…", help="Files, or folders of them.")
    ]
    mapping: Annotated[
        Path | None,
        typer.Option("--mapping", metavar="FILE", help="How any other CSV or JSON is to be read."),
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
        """Import the files."""
        from orchestrator.commands.exchange.imports import ImportRequest, import_results
        from orchestrator.commands.exchange.imports_words import print_import

        if self.older_than_s is not None and not self.remove_source:
            raise typer.BadParameter(
                "says which files to delete, so it needs --remove-source", param_hint="--older-than"
            )
        path = self.database_file
        request = ImportRequest(
            self.paths,
            self.results,
            path,
            command_line(),
            self.mapping,
            self.dry_run,
            self.remove_source,
            self.older_than_s,
        )
        done = import_results(request)
        print_import(done.outcomes, done.report, done.removals, path, as_json=self.json)
        if done.report.merged is not None:
            done.report.merged.require_complete()
        return int(done.has_refused)
