"""Verify models on paths without timing: function, claimed device and correctness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from errno import EISDIR
from os import strerror
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, get_args

from orchestrator.commands.measure.plan import plan_run
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.measure.run import begin_run
from orchestrator.commands.measure.verification import Verification, verification_of
from orchestrator.launchers.diagnosis import runnable
from orchestrator.launchers.registry import choose_launcher, make_launcher
from orchestrator.matrix import Location, Matrix, Source, resolve
from orchestrator.running.execution import execute_run
from orchestrator.running.observer import Observer
from orchestrator.running.options import LauncherChoice, RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.system.files import RESULTS_FOLDER, require_no_stream
from runner.contract.axes import AXES, AxisName, Backend, Mode, Precision, Runtime
from runner.contract.errors import StoreError, UsageError, refuse_unknown
from runner.contract.support import SUPPORTED, generates

_Axes = Mapping[AxisName, Sequence[str]]
_MODES: tuple[Mode, ...] = ("inference", "generation")
_PRECISIONS: tuple[Precision, ...] = ("fp32", "fp16")
"""The first of them that a backend has is verified if nobody names one."""
_SHAPE = {"batch_size": [2], "sequence_length": [32]}
"""That of the references, so that what is compared is the very thing that is executed."""
_NEW_TOKENS = 4
_OPTIONS: Mapping[Location, str] = {("axes", axis.name): axis.option for axis in AXES}


@dataclass(frozen=True)
class VerifyRequest:
    """Models and paths to verify."""

    axes: _Axes = field(default_factory=dict)
    """Values of axes; those that are missing are the matrix', or have defaults of their own."""
    matrix: Path | None = None
    """The matrix whose cells are verified; None for models at the references' shape."""
    select: tuple[str, ...] = ()
    """Globs that keep cells."""
    results: Path = RESULTS_FOLDER
    options: RunOptions = field(default_factory=RunOptions)
    """Launcher, database and seeds."""
    command: str = ""
    save: Path | None = None
    """The file that shall keep the verification: it must be writable."""


def verification_plan(
    request: VerifyRequest, backends: Sequence[str], launcher: LauncherChoice
) -> PlanRequest:
    named = request.axes.items() if request.matrix else ()
    return PlanRequest(
        request.matrix or verify_matrix(request.axes, backends),
        tuple(f"axes.{name}={','.join(words)}" for name, words in named if words),
        select=request.select,
        results=request.results,
        options=replace(request.options, launcher=launcher, verify_only=True),
        command=request.command,
    )


def verify_models(request: VerifyRequest, observer: Observer) -> tuple[Verification, RunOutcome]:
    """Check every model on every path; `save_verification` keeps the verdicts."""
    if request.save is not None:
        require_writable(request.save)
    launcher = choose_launcher(request.options.launcher, observer.note)
    backends = request.axes.get("backend") or (() if request.matrix else runnable(launcher))
    planned = verification_plan(request, backends, launcher)
    options = planned.options
    plan, source = plan_run(planned)
    folder = begin_run(plan, source, request.results, options, observer)
    where = make_launcher(launcher, observer.image_step, chosen=options.images)
    outcome = execute_run(folder, where, observer, options)
    return verification_of(folder, request.command), outcome


def require_writable(path: Path) -> None:
    """Insist, before verifying, that the verdicts can be kept in this file."""
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


def verify_matrix(axes: _Axes, backends: Sequence[str]) -> Matrix:
    """The matrix over the values of these axes, and these backends.

    Without runtimes, all that a backend has; without precisions, the first of `_PRECISIONS` that a
    backend has; without modes, inference, and generation by those models that write tokens.
    """
    if modes := axes.get("mode"):
        return _matrix(axes, backends, modes)
    matrix = _matrix(axes, backends, _MODES)
    silent = [name for name, model in matrix.models.items() if not generates(model)]
    if len(silent) == len(matrix.models):
        return _matrix(axes, backends, _MODES[:1])
    left_out = tuple({"model": name, "mode": _MODES[1]} for name in silent)
    return matrix.model_copy(update={"exclude": left_out})


def _matrix(requested: _Axes, backends: Sequence[str], modes: Sequence[str]) -> Matrix:
    runtimes = requested.get("runtime", ())
    paths = {backend: _runtimes(backend, runtimes) for backend in _known(backends)}
    taken = [backend for backend, executed in paths.items() if executed]
    if not taken:
        raise UsageError(
            f"--runtime: none of {', '.join(backends)} executes {', '.join(runtimes)}",
            hint="`orchestrator doctor` shows the backends of this machine",
        )
    models = list(requested.get("model") or ["micro"])
    axes: dict[str, Any] = {"model": models, "backend": taken, "mode": list(modes), **_SHAPE}
    if "generation" in modes:
        axes["new_tokens"] = [_NEW_TOKENS]
    own: dict[Backend, dict[str, Any]] = {name: {"runtime": paths[name]} for name in taken}
    if precisions := requested.get("precision"):
        axes["precision"] = list(precisions)
    else:
        own = {name: {**lists, "precision": [_plainest(name)]} for name, lists in own.items()}
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
            raise UsageError(f"--backend: {refuse_unknown(backend, names)}")
    return [name for name in names if name in backends]


def _runtimes(backend: Backend, requested: Sequence[str]) -> list[Runtime]:
    supported = dict.fromkeys(runtime for known, runtime, _ in SUPPORTED if known == backend)
    return [runtime for runtime in supported if not requested or runtime in requested]


def _plainest(backend: Backend) -> Precision:
    supported = {name for key, names in SUPPORTED.items() if key[0] == backend for name in names}
    return next((name for name in _PRECISIONS if name in supported), _PRECISIONS[0])
