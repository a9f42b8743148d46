"""Answers, exports and bundles, on a terminal or in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.remarks import Remark, remark_lines
from orchestrator.screen.tables import Column, print_table
from orchestrator.system.text import escape_control, escape_control_line, format_size, plural
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.commands.exchange.export import CheckedBundle, ExportedBundle
    from orchestrator.commands.results.query import Question
    from orchestrator.exchange.bundles import BundleManifest
    from orchestrator.store import Answer, ExportedTopic, ExportOptions, ShownAnswer


def require_printable(form: str) -> None:
    """Refuse formats that a terminal cannot show.

    Raises:
        UsageError: stdout is a terminal, and the format is binary.
    """
    if form == "parquet" and sys.stdout.isatty():
        raise UsageError(
            "--format parquet: binary output cannot be written to a terminal",
            hint="name a file with `--output`, or send it through a pipe",
        )


class _TerminalText(BytesIO):
    """Text on its way to the terminal."""

    def write(self, content: Any, /) -> int:
        text = escape_control(bytes(content).decode())
        return sys.stdout.buffer.write(text.encode())


def print_shown(answer: ShownAnswer, question: Question) -> None:
    """Print an answer as a table.

    A terminal that cannot hold the columns of a statement shows one a line, and leaves out none.
    Below failures stand their reasons, for which no column has the room.
    """
    columns = [Column(name, essential=not question.may_shrink) for name in answer.names]
    rows = list(answer.rows)
    print_table(columns, rows, beyond=question.left_out)
    if question.may_shrink and sys.stdout.isatty():
        for line in _reason_lines(answer.names, rows):
            print_line(line)


def _reason_lines(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The reasons of verdicts with their remedies, where the answer has them."""
    if not {"status", "reason", "remedy"} <= {*names}:
        return
    status, reason, remedy = map(names.index, ("status", "reason", "remedy"))
    remarks = [
        Remark(None, f"{row[status]}: {row[reason]}", (row[status], row[reason]), row[remedy])
        for row in rows
    ]
    yield from remark_lines(remarks, len(rows), "rows")


def print_answer(answer: Answer, form: str) -> None:
    """Print an answer in another format, batch by batch, in UTF-8.

    What would steer a terminal is escaped there; files and pipes get every value as it is.
    """
    from orchestrator.store import WRITERS

    sys.stdout.flush()
    WRITERS[form](answer, _TerminalText() if sys.stdout.isatty() else sys.stdout.buffer)
    sys.stdout.buffer.flush()


def print_exported(exported: ExportedTopic, options: ExportOptions, *, as_json: bool) -> None:
    """Rows, files and the place of an export."""
    if as_json:
        print_json(exported)
        return
    for line in export_lines(exported, options):
        print_line(line)


def export_lines(exported: ExportedTopic, options: ExportOptions) -> Iterator[str]:
    """The same in words."""
    files = "" if exported.files == 1 else f" in {exported.files:,} files"
    rows = f"{exported.rows:,} {plural(exported.rows, 'row')}"
    yield f"{exported.topic}: {rows}{files}: {exported.output}"
    if exported.rows == 0 and not options.everything:
        yield "the default views hold none; `--all` takes every row with its marks"


def print_bundle(exported: ExportedBundle, *, as_json: bool) -> None:
    """Content and hash of a new bundle."""
    if as_json:
        print_json(exported)
        return
    print_line(
        f"{exported.bundle}: {_format_counts(exported.manifest)}, {format_size(exported.bytes)}"
    )
    print_line(f"sha256: {exported.sha256}")


def print_checked(checked: CheckedBundle, *, as_json: bool) -> None:
    """Every fault of a bundle, or that there is none; no text of it makes a line of its own."""
    if as_json:
        print_json(checked)
        return
    for line in _checked_lines(checked):
        print_line(escape_control_line(line))


def _checked_lines(checked: CheckedBundle) -> Iterator[str]:
    for fault in checked.faults:
        yield f"{checked.bundle}: {fault}"
    if checked.newer:
        from orchestrator.exchange.bundles import INSTALL_HINT

        yield INSTALL_HINT
    if checked.manifest is not None:
        yield from _whole_lines(checked, checked.manifest)
    yield f"sha256: {checked.sha256}"


def _whole_lines(checked: CheckedBundle, manifest: BundleManifest) -> Iterator[str]:
    state = "sound" if checked.sound else "whole"
    writer = f"written by AccelMatrix {manifest.accelmatrix}"
    yield f"{checked.bundle}: {state}: {_format_counts(manifest)}, {writer}"
    if checked.left_out:
        records = f"{checked.left_out:,} {plural(checked.left_out, 'record')}"
        yield (
            f"{records} that no measurement can give, which `merge` leaves out:"
            f" {checked.left_out_because}"
        )
    if manifest.scratch:
        yield "it comes from a scratch database: not every row need be measured"
    from runner.contract.record import SCHEMA_VERSION

    if manifest.record_version > SCHEMA_VERSION:
        yield (
            f"its records are of version {manifest.record_version}, and this AccelMatrix knows up"
            f" to {SCHEMA_VERSION}: `merge` keeps columns that it does not know in `other`"
        )


def _format_counts(manifest: BundleManifest) -> str:
    counts = manifest.counts
    numbers = (("record", counts.records), ("run", counts.runs), ("host", counts.hosts))
    records, runs, hosts = (f"{count:,} {plural(count, word)}" for word, count in numbers)
    return f"{records} of {runs} on {hosts}"
