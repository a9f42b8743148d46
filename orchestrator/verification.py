"""What a verification found: every cell's verdict on function, device and correctness."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from orchestrator.errors import MatrixError
from orchestrator.run_folder import RunFolder
from orchestrator.whole_files import storing, write_whole
from runner.cell import DEFAULT_RUNTIMES, Backend, Frozen, Mode, Precision, Runtime
from runner.record import Record, Status

Mark = Literal[
    "ok", "partial", "unproven", "unverified", "wrong", "contradicted", "predicted", Status
]
"""`ok`: it works, on the claimed device, and its outputs agree with the fp32 CPU reference."""
MARKS: dict[Mark, str] = {
    "ok": "works on the claimed device, and its outputs agree with the fp32 CPU reference",
    "partial": "agrees, but only a part of the work is proven to be the claimed device's",
    "unproven": "agrees, but nothing proves which device did the work",
    "unverified": "works, but its outputs could not be compared",
    "wrong": "works, but its outputs do not agree",
    "contradicted": "answers, but another device than the claimed one did the work",
}
"""What the marks mean that are no status."""
_TIMES = frozenset({"wall_s", "cpu_time_s", "kernel_time_s"})


class VerifiedCell(Frozen):
    """One cell's verdict."""

    cell_id: str
    """The cell."""
    model: str
    """Its model."""
    backend: Backend
    """Its hardware path."""
    runtime: Runtime
    """The software that executes it."""
    precision: Precision
    """Its number format."""
    mode: Mode
    """What it does."""
    mark: Mark
    """The verdict."""
    reason: str | None = None
    """Why it is not `ok`."""
    device: str | None = None
    """The physical device that was found."""

    @property
    def path(self) -> str:
        """Backend and runtime, e.g. `cpu onnxruntime`; a backend's own runtime goes unsaid."""
        own = self.backend != "cpu" and self.runtime == DEFAULT_RUNTIMES[self.backend]
        return self.backend if own else f"{self.backend} {self.runtime}"


class Verified(Frozen):
    """A verification as it is saved."""

    verified_on: date
    """The day, UTC."""
    command: str
    """The command line."""
    version: str
    """Version of AccelMatrix."""
    git_commit: str | None
    """Commit of the checkout, with `-dirty` behind it if it had changes."""
    launcher: str
    """`docker` or `process`."""
    machine: str | None
    """The processor's name."""
    operating_system: str | None
    """What the runner saw."""
    libraries: dict[str, str]
    """Versions of all libraries that took part."""
    cells: tuple[VerifiedCell, ...]
    """Every cell, in the plan's order."""


@dataclass(frozen=True)
class Row:
    """The verdicts on one model in one mode."""

    model: str
    mode: Mode
    cells: dict[str, VerifiedCell]
    """By column."""


@dataclass(frozen=True)
class Table:
    """Models × paths, with the reasons below."""

    columns: tuple[str, ...]
    """Paths, with the precision where it is not fp32 alone."""
    rows: tuple[Row, ...]
    reasons: tuple[str, ...]
    """Each once; a cell's footnote is the place of its reason, from 1."""

    def text(self, row: Row, column: str) -> str:
        """A cell's mark with its footnote: `ok`, `wrong [2]`; empty where there is no cell."""
        cell = row.cells.get(column)
        if cell is None:
            return ""
        note = f" [{self.reasons.index(cell.reason) + 1}]" if cell.reason else ""
        return f"{cell.mark}{note}"


def verified(folder: RunFolder, command: str) -> Verified:
    """What the run, which verified its cells, found."""
    records = folder.sound_records()
    found = [records[cell.id] for cell in folder.cells if cell.id in records]
    libraries = (record.libraries or {} for record in found)
    return Verified(
        verified_on=folder.run.started_at.date(),
        command=command,
        version=folder.run.orchestrator_version,
        git_commit=folder.run.git_commit,
        launcher=folder.run.launcher,
        machine=_first(record.cpu_model for record in found),
        operating_system=_first(record.operating_system for record in found),
        libraries={name: each[name] for each in libraries for name in sorted(each)},
        cells=tuple(map(verdict, found)),
    )


def verdict(record: Record) -> VerifiedCell:
    """The record's verdict on function, device and correctness; never on speed."""
    mark, reason = _mark(record)
    return VerifiedCell(
        cell_id=record.cell_id,
        model=record.model,
        backend=record.backend,
        runtime=record.runtime,
        precision=record.precision,
        mode=record.mode,
        mark=mark,
        reason=" ".join(reason.split()) if reason else None,
        device=record.device_name,
    )


def _mark(record: Record) -> tuple[Mark, str | None]:
    evidence = ", ".join(
        f"{name} {value}" for name, value in (record.evidence or {}).items() if name not in _TIMES
    )
    if record.status != "ok":
        return "predicted" if record.predicted else record.status, record.reason
    if record.proof == "contradicted":
        return "contradicted", evidence
    if record.correct is None:
        return "unverified", record.correct_reason
    if not record.correct:
        return "wrong", record.correct_reason
    if record.proof == "proven":
        return "ok", None
    return "partial" if record.proof == "partial" else "unproven", evidence


def table_of(cells: Sequence[VerifiedCell]) -> Table:
    """Models × paths. What a model can do nowhere, for one reason, is left out."""
    precisions: dict[str, set[Precision]] = {}
    for cell in cells:
        precisions.setdefault(cell.path, set()).add(cell.precision)
    rows: dict[tuple[str, Mode], dict[str, VerifiedCell]] = {}
    columns: dict[str, None] = {}
    for cell in cells:
        plain = precisions[cell.path] == {"fp32"}
        column = cell.path if plain else f"{cell.path} {cell.precision}"
        columns[column] = None
        rows.setdefault((cell.model, cell.mode), {})[column] = cell
    kept = [Row(*key, found) for key, found in rows.items() if not _nowhere(found.values())]
    reasons = (cell.reason for row in kept for cell in row.cells.values() if cell.reason)
    return Table(tuple(columns), tuple(kept), tuple(dict.fromkeys(reasons)))


def _nowhere(cells: Iterable[VerifiedCell]) -> bool:
    verdicts = {(cell.mark, cell.reason) for cell in cells}
    return len(verdicts) == 1 and next(iter(verdicts))[0] == "unsupported"


def save(found: Verified, path: Path) -> None:
    """Keep a verification in a file.

    Raises:
        StoreError: the file cannot be written.
    """
    with storing(path):
        write_whole(path, found.model_dump_json(indent=2) + "\n")


def load(path: Path) -> Verified:
    """A verification that was saved.

    Raises:
        MatrixError: the file holds none.
    """
    try:
        return Verified.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        summary = str(error).splitlines()[0]
        raise MatrixError(
            f"{path}: holds no verification: {summary}",
            hint=f"`orchestrator verify --save {path}` makes one",
        ) from error


def _first(values: Iterator[str | None]) -> str | None:
    return next(filter(None, values), None)
