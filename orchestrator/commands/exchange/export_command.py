"""`export`: results for other programs and other people."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestrator.commands.options.common import DatabaseChoice, note
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_run
from orchestrator.system.options import Force, Json, choice, choice_argument

_Topic = Literal["performance", "generation", "hardware", "compatibility", "raw"]
_Format = Literal["csv", "parquet", "json"]
_OF_TABLES = ("topic", "format_", "output", "partition_by", "all_")


@dataclass(frozen=True, kw_only=True)
class ExportCommand(DatabaseChoice, Command):
    """Write results to a table, or to a bundle to share."""

    topic: Annotated[
        _Topic | None,
        choice_argument(_Topic, help="What to take out; not with --bundle.", show_default=False),
    ] = None
    format_: Annotated[
        _Format | None,
        choice(_Format, "--format", help="[default: what PATH's name says; parquet if nothing]"),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="PATH", help="The file, - for stdout, or the folder of partitions."
        ),
    ] = None
    partition_by: Annotated[
        str | None,
        typer.Option(
            "--partition-by",
            metavar="COLUMNS",
            help="Write a folder of Parquet files by the values of these columns,"
            " e.g. backend,model.",
        ),
    ] = None
    all_: Annotated[
        bool, typer.Option("--all", help="Also what must not be quoted, with its marks.")
    ] = False
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle",
            metavar="FILE",
            help="Write runs into one archive that `merge` takes elsewhere.",
        ),
    ] = None
    run: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            metavar="RUN_ID|last",
            help="A run of the bundle. Repeatable.  [default: all]",
            autocompletion=complete_run,
        ),
    ] = None
    force: Force = False
    json: Json = False

    def execute(self) -> None:
        """Write a bundle or a table."""
        from orchestrator.commands.exchange.export_words import (
            export_lines,
            print_bundle,
            print_exported,
        )
        from orchestrator.exchange.bundles.write import write_bundle
        from orchestrator.screen.streams import require_printable
        from orchestrator.store.query.export import ExportOptions, export_topic
        from orchestrator.system.files import is_stdout

        path = self.database_file
        if self.bundle is not None:
            self.refuse_beside("--bundle", _OF_TABLES)
            written = write_bundle(path, self.run or (), self.bundle, force=self.force)
            print_bundle(written, as_json=self.json)
            return
        self.refuse_beside("a topic", ("run",))
        columns = () if self.partition_by is None else self.partition_by.split(",")
        request = ExportOptions(
            self.topic,
            self.output,
            self.format_,
            tuple(map(str.strip, columns)),
            self.all_,
            self.force,
        )
        if not is_stdout(self.output):
            print_exported(export_topic(path, request), request, as_json=self.json)
            return
        self.refuse_beside("stdout as output", ("json",))
        require_printable(request.form or "parquet")
        for line in export_lines(export_topic(path, request), request):
            note(line)
