"""`import`: results of other benchmarks."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import typer

from analysis.results.table import Field, wrapping
from orchestrator.commands.options.common import DatabaseChoice, command_line
from orchestrator.commands.program.command import Command
from orchestrator.exchange.imports.importing import ImportReport
from orchestrator.exchange.imports.outcome import FileOutcome, OutcomeKind
from orchestrator.exchange.imports.removal import Removal
from orchestrator.screen.lines import print_data, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.system.options import Json, seconds_parser
from orchestrator.system.text import plural

_COLUMNS = ("file", "format", "records", "simulated", "failed", "outcome")
_SHOWN = 20
_KINDS: dict[OutcomeKind, str] = {
    "records": "with records",
    "same content": "with the same content as another",
    "no measurement": "without a measurement",
    "not recognised": "not recognised",
}


def print_import(
    outcomes: Sequence[FileOutcome],
    report: ImportReport,
    removals: Iterable[Removal],
    database: Path,
    *,
    as_json: bool,
) -> None:
    """Print every file with its outcome, and what the database took, or would take in a dry run.

    Files are deleted while `removals` is iterated, so each deletion is printed as it happens.
    """
    if as_json:
        print_data(json.dumps(_data(outcomes, report, removals, database), indent=2))
        return
    _print_files([_line(outcome) for outcome in outcomes])
    print_line()
    distinct = [outcome for outcome in outcomes if outcome.kind != "same content"]
    _print_some("left out", list(_faults(distinct)))
    _print_some("without a value", list(_empty(distinct)))
    dry = report.merged is None
    for removal in removals:
        print_line(_printable(_format_removal(removal, dry=dry)))
    print_line(_format_files(outcomes))
    print_line(_format_records(outcomes, report))
    print_line("nothing was written: a dry run" if dry else f"database: {database}")


def _print_files(lines: Sequence[Sequence[object]]) -> None:
    """A row for each file; counts that no file has are no column."""
    first, *counted, last = range(len(_COLUMNS))
    filled = [index for index in counted if any(line[index] is not None for line in lines)]
    counts = [_COLUMNS[index] for index in filled]
    heads: list[str | Field] = [*wrapping("file"), *counts, *wrapping("outcome")]
    shown = (first, *filled, last)
    print_lines(heads, [[line[index] for index in shown] for line in lines])


def _printable(text: str) -> str:
    """Escape everything that is not printable: names and content are somebody else's."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _print_some(heading: str, lines: Sequence[str]) -> None:
    for line in lines[:_SHOWN]:
        print_line(f"{heading}: {_printable(line)}")
    if len(lines) > _SHOWN:
        print_line(f"{heading}: and {len(lines) - _SHOWN} more; --json has them all")


def _faults(outcomes: Sequence[FileOutcome]) -> Iterator[str]:
    for outcome in outcomes:
        yield from (f"{outcome.path}: {fault}" for fault in outcome.reading.faults)


def _empty(outcomes: Sequence[FileOutcome]) -> Iterator[str]:
    for outcome in outcomes:
        yield from (f"{outcome.path}: {location}" for location in outcome.reading.empty)


def _format_removal(removal: Removal, *, dry: bool) -> str:
    if removal.kept is not None:
        return f"kept: {removal.path}: {removal.kept}"
    return f"{'would be deleted' if dry else 'deleted'}: {removal.path}"


def _format_files(outcomes: Sequence[FileOutcome]) -> str:
    kinds = Counter(outcome.kind for outcome in outcomes)
    counts = [f"{kinds[kind]} {words}" for kind, words in _KINDS.items() if kinds[kind]]
    return f"{len(outcomes)} {plural(len(outcomes), 'file')}: {', '.join(counts)}"


def _format_records(outcomes: Sequence[FileOutcome], report: ImportReport) -> str:
    counts = _counts(outcomes)
    would = "would be " if report.merged is None else ""
    changes = [f"{report.added} {would}added", f"{report.there} already there"]
    if report.replaced:
        changes.append(f"{report.replaced} {would}replaced, since they are read otherwise now")
    if report.gone:
        changes.append(f"{report.gone} {would}removed, since they are no longer read")
    if report.quarantined:
        changes.append(
            f"{report.quarantined} left out, since `database check --fix` took them out before"
        )
    records = f"{counts['records']} {plural(counts['records'], 'record')}"
    return (
        f"{records}, {counts['simulated']} of them simulated and"
        f" {counts['failed']} failed: {', '.join(changes)}"
    )


def _counts(outcomes: Sequence[FileOutcome]) -> Counter[str]:
    measurements = [
        measurement
        for outcome in outcomes
        if outcome.kind == "records"
        for measurement in outcome.reading.measurements
    ]
    return Counter(
        records=len(measurements),
        simulated=sum(measurement.simulated for measurement in measurements),
        failed=sum(measurement.status != "ok" for measurement in measurements),
    )


def _row(outcome: FileOutcome) -> tuple[object, ...]:
    counts = _counts([outcome]) if outcome.kind == "records" else {}
    shown = (counts.get(name) for name in ("records", "simulated", "failed"))
    return (str(outcome.path), outcome.format, *shown, outcome.summary)


def _line(outcome: FileOutcome) -> tuple[object, ...]:
    return tuple(_printable(cell) if isinstance(cell, str) else cell for cell in _row(outcome))


def _data(
    outcomes: Sequence[FileOutcome],
    report: ImportReport,
    removals: Iterable[Removal],
    database: Path,
) -> dict[str, object]:
    kinds = Counter(outcome.kind for outcome in outcomes)
    return {
        "dry_run": report.merged is None,
        "database": str(database),
        "files": [_file_data(outcome, report) for outcome in outcomes],
        "kinds": {kind: kinds[kind] for kind in get_args(OutcomeKind)},
        **_counts(outcomes),
        "added": report.added,
        "replaced": report.replaced,
        "already_there": report.there,
        "removed": report.gone,
        "quarantined": report.quarantined,
        "sources": [_removal_data(removal, dry=report.merged is None) for removal in removals],
    }


def _removal_data(removal: Removal, *, dry: bool) -> dict[str, object]:
    goes = removal.kept is None
    deletion = {"deleted": False, "would_delete": goes} if dry else {"deleted": goes}
    return {"file": str(removal.path), **deletion, "kept": removal.kept}


def _file_data(outcome: FileOutcome, report: ImportReport) -> dict[str, object]:
    change = report.changes.get(outcome.run_id) if outcome.kind == "records" else None
    return {
        **dict(zip(_COLUMNS, _row(outcome), strict=True)),
        "kind": outcome.kind,
        "source": outcome.source,
        "sha256": outcome.sha256 or None,
        "run_id": outcome.run_id if change else None,
        "added": len(change.new) if change else None,
        "already_there": len(change.there) if change else None,
        "faults": list(outcome.reading.faults),
        "empty": list(outcome.reading.empty),
    }


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
