"""The matrix that `verify` runs: every path that is built, in small shapes."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from orchestrator.built import BUILT
from orchestrator.errors import MatrixError
from orchestrator.matrix import Matrix, Place, Source, resolve
from orchestrator.matrix.problems import one_of
from runner.cell import Backend, Mode, Precision, Runtime

MODES: tuple[Mode, ...] = ("inference", "generation")
PRECISIONS: tuple[Precision, ...] = ("fp32", "fp16")
"""The first of them that a backend has is verified if nobody names one."""
_SHAPE = {"batch_size": [2], "sequence_length": [32]}
"""That of the references, so that what is compared is the very thing that is executed."""
_NEW_TOKENS = 4
_OPTIONS: Mapping[Place, str] = {
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
        MatrixError: an option is wrong, or no backend has one of the runtimes.
    """
    paths = {backend: _runtimes(backend, runtimes) for backend in _known(backends)}
    taken = [backend for backend, found in paths.items() if found]
    if not taken:
        raise MatrixError(
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
            raise MatrixError(f"--backends: {one_of(backend, names)}")
    return [name for name in names if name in backends]


def _runtimes(backend: Backend, asked: Sequence[str]) -> list[Runtime]:
    built = dict.fromkeys(runtime for known, runtime, _ in BUILT if known == backend)
    return [runtime for runtime in built if not asked or runtime in asked]


def _plainest(backend: Backend) -> Precision:
    built = {each for key, found in BUILT.items() if key[0] == backend for each in found}
    return next((precision for precision in PRECISIONS if precision in built), PRECISIONS[0])
