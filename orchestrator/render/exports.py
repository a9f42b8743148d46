"""The answer to a question, on a terminal or in a pipe."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from orchestrator.bundles import INSTALL_HINT, Bundle, BundleManifest, WrittenBundle
from orchestrator.render.lines import print_line
from orchestrator.render.tables import print_table
from orchestrator.store import SUFFIXES, WRITERS, Answer, Exported, Wanted, text_rows
from orchestrator.system.text import format_size, plural
from runner.contract.errors import UsageError
from runner.contract.record import SCHEMA_VERSION

TABLE = "table"


def require_printable(form: str) -> None:
    """Insist that whoever reads stdout can read this format.

    Raises:
        UsageError: a terminal would be given bytes.
    """
    if form == "parquet" and sys.stdout.isatty():
        raise UsageError(
            "--format parquet: is bytes, and stdout a terminal",
            hint="name a file with `--output`, or send it through a pipe",
        )


def savable_form(form: str | None, path: Path) -> str:
    """The format that was asked for, or else that the file's name asks for.

    Raises:
        UsageError: it is the one for the eye, or the name asks for none.
    """
    if form == TABLE:
        raise UsageError(
            "--output: tables are for the screen", hint=f"`--format` takes {', '.join(WRITERS)}"
        )
    form = form or SUFFIXES.get(path.suffix.lower())
    if form is None:
        end = f"{path.suffix!r} says no format" if path.suffix else "says no format"
        raise UsageError(
            f"--output {path}: {end}; names end with {', '.join(SUFFIXES)}",
            hint=f"name it so, or add `--format {'|'.join(WRITERS)}`",
        )
    return form


def print_answer(answer: Answer, form: str) -> None:
    """Print it; all formats but the table batch by batch, in UTF-8."""
    if form == TABLE:
        rows = [row for batch in answer.batches for row in text_rows(batch)]
        print_table(answer.schema.names, rows)
        return
    sys.stdout.flush()
    WRITERS[form](answer, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def print_exported(exported: Exported, wanted: Wanted, *, as_json: bool) -> None:
    """How much it was, and where it lies now."""
    if as_json:
        data = {
            "topic": exported.topic,
            "output": str(exported.path),
            "rows": exported.rows,
            "files": exported.files,
        }
        print_line(json.dumps(data, indent=2))
        return
    for line in lines(exported, wanted):
        print_line(line)


def lines(exported: Exported, wanted: Wanted) -> Iterator[str]:
    """The same in words."""
    files = "" if exported.files == 1 else f" in {exported.files:,} files"
    rows = f"{exported.rows:,} {plural(exported.rows, 'row')}"
    yield f"{exported.topic}: {rows}{files}: {exported.path}"
    if exported.rows == 0 and not wanted.everything:
        yield "the default views hold none; `--all` takes every row with its marks"


def print_written(written: WrittenBundle, *, as_json: bool) -> None:
    """What is in it, and by which hash it is known."""
    if as_json:
        data = {
            "bundle": str(written.path),
            "bytes": written.bytes,
            "sha256": written.sha256,
            "manifest": written.manifest.model_dump(mode="json"),
        }
        print_line(json.dumps(data, indent=2))
        return
    print_line(f"{written.path}: {_counted(written.manifest)}, {format_size(written.bytes)}")
    print_line(f"sha256: {written.sha256}")


def print_checked(bundle: Bundle, *, as_json: bool) -> None:
    """Every fault, or that there is none."""
    if as_json:
        manifest = bundle.manifest.model_dump(mode="json") if bundle.manifest else None
        data = {
            "bundle": str(bundle.path),
            "bytes": bundle.bytes,
            "sha256": bundle.sha256,
            "sound": not bundle.faults,
            "faults": list(bundle.faults),
            "manifest": manifest,
        }
        print_line(json.dumps(data, indent=2))
        return
    for fault in bundle.faults:
        print_line(f"{bundle.path}: {fault}")
    if bundle.newer:
        print_line(INSTALL_HINT)
    if bundle.manifest is not None:
        _print_sound(bundle.path, bundle.manifest)
    print_line(f"sha256: {bundle.sha256}")


def _print_sound(path: Path, manifest: BundleManifest) -> None:
    writer = f"written by AccelMatrix {manifest.accelmatrix}"
    print_line(f"{path}: sound: {_counted(manifest)}, {writer}")
    if manifest.scratch:
        print_line("it comes from a scratch database: not every row need be measured")
    if manifest.record_version > SCHEMA_VERSION:
        print_line(
            f"its records are of version {manifest.record_version}, and this AccelMatrix knows up"
            f" to {SCHEMA_VERSION}: `merge` keeps columns that it does not know in `other`"
        )


def _counted(manifest: BundleManifest) -> str:
    counts = manifest.counts
    told = (("record", counts.records), ("run", counts.runs), ("host", counts.hosts))
    records, runs, hosts = (f"{n:,} {plural(n, word)}" for word, n in told)
    return f"{records} of {runs} on {hosts}"
