"""A verification: verdicts on function, device and correctness, as a table and as a file."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal, cast

from pydantic import ValidationError

from analysis.compatibility.verdicts import MEANINGS, verdict_of
from analysis.results.table import wrapping
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.running.folder import RunFolder
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.files import OUTPUT_HINT, translate_os_errors
from runner.contract.axes import Backend, Mode, Precision, Runtime
from runner.contract.cell import DEFAULT_RUNTIMES, Frozen
from runner.contract.errors import UsageError
from runner.contract.files import write_atomic
from runner.contract.models import catalogue
from runner.contract.reasons import Reason
from runner.contract.record.record import Record
from runner.contract.record.verdict import Status
from runner.contract.support import generates

Mark = Literal[
    "ok", "partial", "unproven", "unverified", "wrong", "contradicted", "predicted", Status
]
"""The verdict, whose meaning `analysis.compatibility.verdicts` tells, or that it was predicted."""
_OF_OUTPUTS = ("unverified", "wrong")
"""Verdicts whose reason is that of the comparison of outputs."""
_TIMES = frozenset({"wall_s", "cpu_time_s", "kernel_time_s", "kernel_share", "launch_share"})


class VerifiedCell(Frozen):
    """One cell's verdict."""

    cell_id: str
    model: str
    backend: Backend
    runtime: Runtime
    precision: Precision
    mode: Mode
    mark: Mark
    reason: str | None = None
    device: str | None = None
    software_device: bool | None = None
    """True if a program stood in for it."""
    verified_shape: str | None = None
    """Sizes of the input for which outputs were compared; null where none were."""

    @property
    def path(self) -> str:
        """Backend and runtime, e.g. `cpu onnxruntime`; a backend's own runtime goes unsaid."""
        own = self.backend != "cpu" and self.runtime == DEFAULT_RUNTIMES[self.backend]
        return self.backend if own else f"{self.backend} {self.runtime}"


class Verification(Frozen):
    """The verdicts of a verification with its circumstances, as they are saved."""

    verified_on: date
    """The day, UTC."""
    command: str
    version: str
    git_commit: str | None
    """Commit of the checkout, with `-dirty` behind it if it had changes."""
    launcher: str
    machine: str | None
    operating_system: str | None
    """The operating system as the runner saw it."""
    libraries: dict[str, str]
    cells: tuple[VerifiedCell, ...]

    @property
    def simulators(self) -> dict[Backend, str]:
        """The simulators that stood in for devices, by backend."""
        pairs = ((cell, CATALOGUE[cell.backend].simulator) for cell in self.cells)
        return {
            cell.backend: simulator.name
            for cell, simulator in pairs
            if simulator and (cell.software_device or cell.device == simulator.name)
        }


def verification_of(folder: RunFolder, command: str) -> Verification:
    sound = folder.sound_records()
    records = [sound[cell.id] for cell in folder.cells if cell.id in sound]
    libraries = (record.libraries or {} for record in records)
    return Verification(
        verified_on=folder.run.started_at.date(),
        command=command,
        version=folder.run.orchestrator_version,
        git_commit=folder.run.git_commit,
        launcher=folder.run.launcher,
        machine=_first(record.cpu_model for record in records),
        operating_system=_first(record.operating_system for record in records),
        libraries={name: versions[name] for versions in libraries for name in sorted(versions)},
        cells=tuple(map(verify_record, records)),
    )


def verify_record(record: Record) -> VerifiedCell:
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
        software_device=record.software_device,
        verified_shape=record.verified_shape,
    )


def _mark(record: Record) -> tuple[Mark, str | None]:
    evidence = ", ".join(
        f"{name} {value}" for name, value in (record.evidence or {}).items() if name not in _TIMES
    )
    if record.status != "ok":
        return "predicted" if record.predicted else record.status, _words(record.ending)
    verdict = verdict_of(record.status, record.proof, record.correct)
    if verdict in _OF_OUTPUTS:
        return cast("Mark", verdict), _words(record.incorrectness)
    return cast("Mark", verdict), None if verdict == "ok" else evidence


def _words(reason: Reason | None) -> str | None:
    return None if reason is None else reason_text(reason)


def save_verification(verification: Verification, path: Path) -> None:
    with translate_os_errors(path, hint=OUTPUT_HINT):
        write_atomic(path, verification.model_dump_json(indent=2) + "\n")


def load_verification(path: Path) -> Verification:
    try:
        return Verification.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        summary = str(error).splitlines()[0]
        raise UsageError(
            f"{path}: holds no verification: {summary}",
            hint=f"`orchestrator verify --save {path}` makes one",
        ) from error


def _first(values: Iterator[str | None]) -> str | None:
    return next(filter(None, values), None)


@dataclass(frozen=True)
class VerdictTable:
    """Models × paths, with the reasons below."""

    columns: tuple[str, ...]
    """Paths, with the precision where it is not fp32 alone."""
    rows: Mapping[tuple[str, Mode], Sequence[str]]
    """The mark of each path with its footnote, `wrong [2]`, or nothing; by model and mode."""
    reasons: tuple[str, ...]
    """Each once; a cell's footnote is the place of its reason, from 1."""


def verdict_table(cells: Sequence[VerifiedCell]) -> VerdictTable:
    """Models × paths. Generation by a model that cannot write tokens is left out."""
    precisions: dict[str, set[Precision]] = {}
    for cell in cells:
        precisions.setdefault(cell.path, set()).add(cell.precision)
    groups: dict[tuple[str, Mode], dict[str, VerifiedCell]] = {}
    columns: dict[str, None] = {}
    for cell in cells:
        plain = precisions[cell.path] == {"fp32"}
        column = cell.path if plain else f"{cell.path} {cell.precision}"
        columns[column] = None
        groups.setdefault((cell.model, cell.mode), {})[column] = cell
    reasons: dict[str, int] = {}
    rows = {}
    for (name, mode), by_path in groups.items():
        model = catalogue().get(name)
        writes = mode != "generation" or model is None or generates(model)
        if not writes and all(cell.mark == "unsupported" for cell in by_path.values()):
            continue
        for cell in by_path.values():
            if cell.reason:
                reasons.setdefault(cell.reason, len(reasons) + 1)
        notes = {
            path: f"{cell.mark} [{reasons[cell.reason]}]" if cell.reason else cell.mark
            for path, cell in by_path.items()
        }
        rows[name, mode] = [notes.get(column, "") for column in columns]
    return VerdictTable(tuple(columns), rows, tuple(reasons))


def print_verification(verification: Verification, *, as_json: bool) -> None:
    """Print every model's verdict on every path, the reasons below, then the sums."""
    cells = verification.cells
    if as_json:
        print_json(verification)
        return
    table = verdict_table(cells)
    rows = [(*group, *(mark or None for mark in marks)) for group, marks in table.rows.items()]
    print_lines((*wrapping("model"), "mode", *wrapping(*table.columns)), rows)
    print_line()
    for number, reason in enumerate(table.reasons, start=1):
        print_line(f"[{number}] {reason}")
    counts = Counter(cell.mark for cell in cells)
    summary = ", ".join(f"{count} {mark}" for mark, count in counts.items())
    print_line(f"{len(cells):,} cells: {summary}")
    for mark in counts:
        if mark in MEANINGS:
            print_line(f"{mark}: {MEANINGS[mark]}")
    for backend, simulator in verification.simulators.items():
        print_line(f"{backend}: the {simulator} in the device's place")
    shapes = sorted({cell.verified_shape for cell in cells if cell.verified_shape})
    if shapes:
        print_line(f"outputs were compared at {', '.join(shapes)}")
