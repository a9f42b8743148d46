"""`export`: results for other programs and other people."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import database_in, note
from orchestrator.commands.program.completion import complete_run
from orchestrator.commands.program.refusals import refuse_beside
from orchestrator.system.files import RESULTS_FOLDER


class TopicChoice(StrEnum):
    """Tables that can be exported."""

    performance = "performance"
    generation = "generation"
    hardware = "hardware"
    compatibility = "compatibility"
    raw = "raw"


class ExportFormat(StrEnum):
    """Formats of files."""

    csv = "csv"
    parquet = "parquet"
    json = "json"


TopicIfAny = Annotated[
    TopicChoice | None,
    typer.Argument(
        metavar=options.one_of(TopicChoice),
        help="What to take out; not with --bundle.",
        show_default=False,
    ),
]
ExportOutput = Annotated[
    Path | None,
    typer.Option(
        "--output", metavar="PATH", help="The file, - for stdout, or the folder of partitions."
    ),
]
PartitionBy = Annotated[
    str | None,
    typer.Option(
        "--partition-by",
        metavar="COLUMNS",
        help="Write a folder of Parquet files by the values of these columns, e.g. backend,model.",
    ),
]
Everything = Annotated[
    bool, typer.Option("--all", help="Also what must not be quoted, with its marks.")
]
BundleFile = Annotated[
    Path | None,
    typer.Option(
        "--bundle", metavar="FILE", help="Write runs into one archive that `merge` takes elsewhere."
    ),
]
Runs = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        metavar="RUN_ID|last",
        help="A run of the bundle. Repeatable.  [default: all]",
        autocompletion=complete_run,
    ),
]


def export(
    context: typer.Context,
    topic: TopicIfAny = None,
    format_: Annotated[
        ExportFormat | None,
        typer.Option(
            "--format",
            metavar=options.one_of(ExportFormat),
            help="[default: what PATH's name says; parquet if nothing]",
        ),
    ] = None,
    output: ExportOutput = None,
    partition_by: PartitionBy = None,
    everything: Everything = False,
    bundle: BundleFile = None,
    run: Runs = None,
    force: options.Force = False,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Write results to a table, or to a bundle to share."""
    from orchestrator.commands.exchange.export_words import (
        export_lines,
        print_bundle,
        print_exported,
    )
    from orchestrator.exchange.bundles.write import write_bundle
    from orchestrator.screen.streams import require_printable
    from orchestrator.store import ExportOptions, export_topic
    from orchestrator.system.files import is_stdout

    path = database_in(results, database)
    if bundle is not None:
        beside = {"topic", "format_", "output", "partition_by", "everything"}
        refuse_beside(context, "--bundle", beside)
        print_bundle(write_bundle(path, run or (), bundle, force=force), as_json=json)
        return
    refuse_beside(context, "a topic", {"run"})
    request = ExportOptions(
        topic and topic.value,
        output,
        format_ and format_.value,
        () if partition_by is None else tuple(map(str.strip, partition_by.split(","))),
        everything,
        force,
    )
    if not is_stdout(output):
        print_exported(export_topic(path, request), request, as_json=json)
        return
    refuse_beside(context, "stdout as output", {"json"})
    require_printable(request.form or "parquet")
    for line in export_lines(export_topic(path, request), request):
        note(line)
