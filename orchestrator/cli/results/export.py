"""`export`: results for other programs and other people."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.options import database_in, note
from orchestrator.system.files import RESULTS_FOLDER


class Topic(StrEnum):
    """What can be taken out."""

    performance = "performance"
    hardware = "hardware"
    compatibility = "compatibility"
    raw = "raw"


class ExportFormat(StrEnum):
    """In which format."""

    csv = "csv"
    parquet = "parquet"
    json = "json"


TopicIfAny = Annotated[
    Topic | None, typer.Argument(help="What to take out; not with --bundle.", show_default=False)
]
Output = Annotated[
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
        "--run", metavar="RUN_ID|last", help="A run of the bundle. Repeatable.  [default: all]"
    ),
]


def export(
    context: typer.Context,
    topic: TopicIfAny = None,
    format_: Annotated[
        ExportFormat | None,
        typer.Option("--format", help="[default: what PATH's name says; parquet if nothing]"),
    ] = None,
    output: Output = None,
    partition_by: PartitionBy = None,
    everything: Everything = False,
    bundle: BundleFile = None,
    run: Runs = None,
    force: options.Force = False,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Take results out: a table for other programs, or a bundle for other people."""
    from orchestrator.bundles import write_bundle
    from orchestrator.render.exports import lines, print_exported, print_written, require_printable
    from orchestrator.store import Wanted
    from orchestrator.store import export as take_out
    from orchestrator.system.files import is_stdout

    path = database_in(results, database)
    if bundle is not None:
        beside = {"topic", "format_", "output", "partition_by", "everything"}
        options.refuse_beside(context, "--bundle", beside)
        print_written(write_bundle(path, run or (), bundle, force=force), as_json=json)
        return
    options.refuse_beside(context, "a topic", {"run"})
    wanted = Wanted(
        topic and topic.value,
        output,
        format_ and format_.value,
        () if partition_by is None else tuple(map(str.strip, partition_by.split(","))),
        everything,
        force,
    )
    if not is_stdout(output):
        print_exported(take_out(path, wanted), wanted, as_json=json)
        return
    options.refuse_beside(context, "stdout as output", {"json"})
    require_printable(wanted.form or "parquet")
    for line in lines(take_out(path, wanted), wanted):
        note(line)
