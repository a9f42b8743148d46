"""Answers, exports and bundles, on a terminal or in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from orchestrator.screen.lines import print_json, print_line
from orchestrator.system.text import escape_control_line, format_size, plural

if TYPE_CHECKING:
    from orchestrator.exchange.bundles.check import CheckedBundle
    from orchestrator.exchange.bundles.manifest import BundleManifest
    from orchestrator.exchange.bundles.write import WrittenBundle
    from orchestrator.store.query.export import ExportedTopic, ExportOptions


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


def print_bundle(exported: WrittenBundle, *, as_json: bool) -> None:
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
        from orchestrator.exchange.bundles.check import INSTALL_HINT

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


def _format_counts(manifest: BundleManifest) -> str:
    counts = manifest.counts
    numbers = (("record", counts.records), ("run", counts.runs), ("host", counts.hosts))
    records, runs, hosts = (f"{count:,} {plural(count, word)}" for word, count in numbers)
    return f"{records} of {runs} on {hosts}"
