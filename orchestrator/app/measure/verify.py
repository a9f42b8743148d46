"""What a verification found: every cell's verdict on function, device and correctness."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from errno import EISDIR
from os import strerror
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Literal, get_args

from pydantic import ValidationError

from orchestrator.matrix import Location, Matrix, Source, resolve
from orchestrator.running.folder import RunFolder
from orchestrator.system.files import require_no_stream, translate_os_errors
from orchestrator.system.problems import not_one_of
from runner.contract.cell import DEFAULT_RUNTIMES, Backend, Frozen, Mode, Precision, Runtime
from runner.contract.errors import StoreError, UsageError
from runner.contract.files import write_atomic
from runner.contract.record import Record, Status
from runner.contract.support import SUPPORTED

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
    verified_shape: str | None = None
    """Sizes of the input for which outputs were compared; null where none were."""

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
        verified_shape=record.verified_shape,
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


def require_place(path: Path) -> None:
    """Find out before verifying whether the verdicts can be kept in this file.

    Raises:
        UsageError: it is a pipe or a device.
        StoreError: it is a folder, or no file can be made beside it.
    """
    require_no_stream("--save", path)
    try:
        if path.is_dir():
            raise IsADirectoryError(EISDIR, strerror(EISDIR))
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise StoreError(
            f"--save {path}: cannot be written: {error.strerror or error}",
            hint="name a file in a folder that exists and can be written to",
        ) from error


def save(found: Verified, path: Path) -> None:
    """Keep a verification in a file.

    Raises:
        StoreError: the file cannot be written.
    """
    with translate_os_errors(path):
        write_atomic(path, found.model_dump_json(indent=2) + "\n")


def load(path: Path) -> Verified:
    """A verification that was saved.

    Raises:
        UsageError: the file holds none.
    """
    try:
        return Verified.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        summary = str(error).splitlines()[0]
        raise UsageError(
            f"{path}: holds no verification: {summary}",
            hint=f"`orchestrator verify --save {path}` makes one",
        ) from error


def _first(values: Iterator[str | None]) -> str | None:
    return next(filter(None, values), None)


MODES: tuple[Mode, ...] = ("inference", "generation")
PRECISIONS: tuple[Precision, ...] = ("fp32", "fp16")
"""The first of them that a backend has is verified if nobody names one."""
_SHAPE = {"batch_size": [2], "sequence_length": [32]}
"""That of the references, so that what is compared is the very thing that is executed."""
_NEW_TOKENS = 4
_OPTIONS: Mapping[Location, str] = {
    ("axes", "model"): "--models",
    ("axes", "backend"): "--backends",
    ("axes", "mode"): "--modes",
    ("axes", "precision"): "--precision",
}


def verify_matrix(
    models: Sequence[str],
    backends: Sequence[str],
    runtimes: Sequence[str] = (),
    precisions: Sequence[str] = (),
    modes: Sequence[str] = MODES,
) -> Matrix:
    """The matrix over these models and backends.

    Args:
        models: models, sets or files of custom models.
        backends: hardware paths.
        runtimes: runtimes; all that a backend has if empty.
        precisions: number formats; the first of `PRECISIONS` that a backend has if empty.
        modes: what the models do.

    Raises:
        UsageError: an option is wrong, or no backend has one of the runtimes.
    """
    paths = {backend: _runtimes(backend, runtimes) for backend in _known(backends)}
    taken = [backend for backend, found in paths.items() if found]
    if not taken:
        raise UsageError(
            f"--runtimes: none of {', '.join(backends) or 'no backend'} executes "
            f"{', '.join(runtimes) or 'anything yet'}",
            hint="`orchestrator doctor` shows the backends of this machine",
        )
    axes: dict[str, Any] = {"model": list(models), "backend": taken, "mode": list(modes), **_SHAPE}
    if "generation" in modes:
        axes["new_tokens"] = [_NEW_TOKENS]
    own: dict[Backend, dict[str, Any]] = {each: {"runtime": paths[each]} for each in taken}
    if precisions:
        axes["precision"] = list(precisions)
    else:
        own = {each: {**lists, "precision": [_plainest(each)]} for each, lists in own.items()}
    data = {
        "version": 1,
        "axes": axes,
        "backends": {backend: {"axes": lists} for backend, lists in own.items()},
        "measure": {"profile": "quick"},
    }
    return resolve(Source("verify", data, options=_OPTIONS))


def _known(backends: Sequence[str]) -> list[Backend]:
    names = get_args(Backend)
    for backend in backends:
        if backend not in names:
            raise UsageError(f"--backends: {not_one_of(backend, names)}")
    return [name for name in names if name in backends]


def _runtimes(backend: Backend, asked: Sequence[str]) -> list[Runtime]:
    built = dict.fromkeys(runtime for known, runtime, _ in SUPPORTED if known == backend)
    return [runtime for runtime in built if not asked or runtime in asked]


def _plainest(backend: Backend) -> Precision:
    built = {each for key, found in SUPPORTED.items() if key[0] == backend for each in found}
    return next((precision for precision in PRECISIONS if precision in built), PRECISIONS[0])
