"""`export`: results for other programs and other people; what became of tables and bundles."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.commands.options.common import DatabaseChoice, note
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_run
from orchestrator.screen.lines import print_json, print_line
from orchestrator.system.options import Force, Json, choice, choice_argument, split_words
from orchestrator.system.text import escape_control_line, format_size, plural

if TYPE_CHECKING:
    from orchestrator.exchange.bundles.archive import BundleManifest
    from orchestrator.exchange.bundles.check import Bundle
    from orchestrator.exchange.bundles.write import WrittenBundle
    from orchestrator.store.query.export import ExportedTopic, ExportOptions

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
        typer.Option(metavar="PATH", help="The file, - for stdout, or the folder of partitions."),
    ] = None
    partition_by: Annotated[
        str | None,
        typer.Option(
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
            metavar="FILE", help="Write runs into one archive that `merge` takes elsewhere."
        ),
    ] = None
    run: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN_ID|last",
            help="Runs of the bundle.  [default: all]",
            autocompletion=complete_run,
            callback=split_words,
        ),
    ] = None
    force: Force = False
    json: Json = False

    def execute(self) -> None:
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
        partitions = tuple(map(str.strip, columns))
        request = ExportOptions(
            self.topic, self.output, self.format_, partitions, self.all_, self.force
        )
        if not is_stdout(self.output):
            print_exported(export_topic(path, request), request, as_json=self.json)
            return
        self.refuse_beside("stdout as output", ("json",))
        require_printable(request.form or "parquet")
        for line in export_lines(export_topic(path, request), request):
            note(line)


def print_exported(exported: "ExportedTopic", options: "ExportOptions", *, as_json: bool) -> None:
    if as_json:
        print_json(exported)
        return
    for line in export_lines(exported, options):
        print_line(line)


def export_lines(exported: "ExportedTopic", options: "ExportOptions") -> Iterator[str]:
    files = "" if exported.files == 1 else f" in {exported.files:,} files"
    rows = f"{exported.rows:,} {plural(exported.rows, 'row')}"
    yield f"{exported.topic}: {rows}{files}: {exported.output}"
    if exported.rows == 0 and not options.everything:
        yield "the default views hold none; `--all` takes every row with its marks"


def print_bundle(exported: "WrittenBundle", *, as_json: bool) -> None:
    if as_json:
        print_json(exported)
        return
    print_line(
        f"{exported.bundle}: {_format_counts(exported.manifest)}, {format_size(exported.bytes)}"
    )
    print_line(f"sha256: {exported.sha256}")


def print_checked(checked: "Bundle", *, as_json: bool) -> None:
    """Every fault of a bundle, or that there is none; no text of it makes a line of its own."""
    if as_json:
        data = {"bundle": checked.path, "bytes": checked.bytes, "sha256": checked.sha256}
        data |= {"sound": checked.sound, "faults": checked.faults, "left_out": checked.left_out}
        because = checked.impossible and checked.impossible.reason
        rest = {"manifest": checked.manifest, "newer": checked.newer}
        print_json({**data, "left_out_because": because, **rest})
        return
    for line in _checked_lines(checked):
        print_line(escape_control_line(line))


def _checked_lines(checked: "Bundle") -> Iterator[str]:
    from orchestrator.exchange.bundles.check import INSTALL_HINT

    yield from (f"{checked.path}: {fault}" for fault in checked.faults)
    if checked.newer:
        yield INSTALL_HINT
    if checked.manifest is not None:
        state = "sound" if checked.sound else "whole"
        writer = f"written by AccelMatrix {checked.manifest.accelmatrix}"
        yield f"{checked.path}: {state}: {_format_counts(checked.manifest)}, {writer}"
        if checked.impossible:
            records = f"{checked.left_out:,} {plural(checked.left_out, 'record')}"
            yield (
                f"{records} that no measurement can give, which `merge` leaves out:"
                f" {checked.impossible.reason}"
            )
        if checked.manifest.scratch:
            yield "it comes from a scratch database: not every row need be measured"
    yield f"sha256: {checked.sha256}"


def _format_counts(manifest: "BundleManifest") -> str:
    counts = manifest.counts
    numbers = (("record", counts.records), ("run", counts.runs), ("host", counts.hosts))
    records, runs, hosts = (f"{count:,} {plural(count, word)}" for word, count in numbers)
    return f"{records} of {runs} on {hosts}"
