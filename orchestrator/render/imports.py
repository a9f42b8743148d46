"""What became of imported files."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import get_args

from orchestrator.imports.importing import Import
from orchestrator.imports.outcome import Kind, Verdict
from orchestrator.imports.removal import Removal
from orchestrator.render.lines import print_line
from orchestrator.render.tables import print_table
from orchestrator.system.text import plural

COLUMNS = ("file", "format", "records", "simulated", "failed", "outcome")
SHOWN = 20
_KINDS: dict[Kind, str] = {
    "records": "with records",
    "same content": "with the same content as another",
    "no measurement": "without a measurement",
    "not recognised": "not recognised",
}


def print_import(
    verdicts: Sequence[Verdict],
    done: Import,
    removals: Iterable[Removal],
    database: Path,
    *,
    as_json: bool,
) -> None:
    """Every file with its outcome, and what the database took, or would take in a dry run.

    Files are deleted while `removals` is gone through, so that each is told as it goes.
    """
    if as_json:
        print_line(json.dumps(_data(verdicts, done, removals, database), indent=2))
        return
    print_table(COLUMNS, [_line(verdict) for verdict in verdicts])
    print_line()
    told = [verdict for verdict in verdicts if verdict.kind != "same content"]
    _print_some("left out", list(_faults(told)))
    _print_some("without a value", list(_empty(told)))
    dry = done.merged is None
    for removal in removals:
        print_line(_printable(_told(removal, dry=dry)))
    print_line(_files(verdicts))
    print_line(_records(verdicts, done))
    print_line("nothing was written: a dry run" if dry else f"database: {database}")


def _printable(text: str) -> str:
    """The text without letters that a terminal obeys: names and content are somebody else's."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _print_some(what: str, lines: Sequence[str]) -> None:
    for line in lines[:SHOWN]:
        print_line(f"{what}: {_printable(line)}")
    if len(lines) > SHOWN:
        print_line(f"{what}: and {len(lines) - SHOWN} more; --json has them all")


def _faults(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for verdict in verdicts:
        yield from (f"{verdict.path}: {fault}" for fault in verdict.reading.faults)


def _empty(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for verdict in verdicts:
        yield from (f"{verdict.path}: {place}" for place in verdict.reading.empty)


def _told(removal: Removal, *, dry: bool) -> str:
    if removal.kept is not None:
        return f"kept: {removal.path}: {removal.kept}"
    return f"{'would be deleted' if dry else 'deleted'}: {removal.path}"


def _files(verdicts: Sequence[Verdict]) -> str:
    kinds = Counter(verdict.kind for verdict in verdicts)
    told = [f"{kinds[kind]} {words}" for kind, words in _KINDS.items() if kinds[kind]]
    return f"{len(verdicts)} file{'s' if len(verdicts) > 1 else ''}: {', '.join(told)}"


def _records(verdicts: Sequence[Verdict], done: Import) -> str:
    counts = _counts(verdicts)
    would = "would be " if done.merged is None else ""
    deeds = [f"{done.added} {would}added", f"{done.there} already there"]
    if done.replaced:
        deeds.append(f"{done.replaced} {would}replaced, since they are read otherwise now")
    if done.gone:
        deeds.append(f"{done.gone} {would}removed, since they are no longer read")
    if done.quarantined:
        deeds.append(f"{done.quarantined} left out, since `validate --fix` took them out before")
    records = f"{counts['records']} {plural(counts['records'], 'record')}"
    return (
        f"{records}, {counts['simulated']} of them simulated and"
        f" {counts['failed']} failed: {', '.join(deeds)}"
    )


def _counts(verdicts: Sequence[Verdict]) -> Counter[str]:
    found = [
        each for verdict in verdicts if verdict.kind == "records" for each in verdict.reading.found
    ]
    return Counter(
        records=len(found),
        simulated=sum(each.simulated for each in found),
        failed=sum(each.status != "ok" for each in found),
    )


def _row(verdict: Verdict) -> tuple[object, ...]:
    counts = _counts([verdict]) if verdict.kind == "records" else {}
    shown = (counts.get(name) for name in ("records", "simulated", "failed"))
    return (str(verdict.path), verdict.format, *shown, verdict.outcome)


def _line(verdict: Verdict) -> tuple[object, ...]:
    return tuple(_printable(cell) if isinstance(cell, str) else cell for cell in _row(verdict))


def _data(
    verdicts: Sequence[Verdict], done: Import, removals: Iterable[Removal], database: Path
) -> dict[str, object]:
    kinds = Counter(verdict.kind for verdict in verdicts)
    return {
        "dry_run": done.merged is None,
        "database": str(database),
        "files": [_file(verdict, done) for verdict in verdicts],
        "kinds": {kind: kinds[kind] for kind in get_args(Kind)},
        **_counts(verdicts),
        "added": done.added,
        "replaced": done.replaced,
        "already_there": done.there,
        "removed": done.gone,
        "quarantined": done.quarantined,
        "sources": [_source(each, dry=done.merged is None) for each in removals],
    }


def _source(removal: Removal, *, dry: bool) -> dict[str, object]:
    goes = removal.kept is None
    deed = {"deleted": False, "would_delete": goes} if dry else {"deleted": goes}
    return {"file": str(removal.path), **deed, "kept": removal.kept}


def _file(verdict: Verdict, done: Import) -> dict[str, object]:
    change = done.changes.get(verdict.run_id) if verdict.kind == "records" else None
    return {
        **dict(zip(COLUMNS, _row(verdict), strict=True)),
        "kind": verdict.kind,
        "source": verdict.source,
        "sha256": verdict.sha256 or None,
        "run_id": verdict.run_id if change else None,
        "added": len(change.new) if change else None,
        "already_there": len(change.there) if change else None,
        "faults": list(verdict.reading.faults),
        "empty": list(verdict.reading.empty),
    }
