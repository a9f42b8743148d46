"""A matrix from options, without a file: `orchestrator bench --model … --batch-sizes 1,2,4`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from orchestrator.matrix import Location, Matrix, Source, resolve
from orchestrator.system.problems import not_one_of
from runner.contract.errors import UsageError
from runner.contract.models import Family, catalogue

_OPTIONS: Mapping[Location, str] = {
    ("axes", "model"): "--model",
    ("axes", "backend"): "--backend",
    ("axes", "runtime"): "--runtime",
    ("axes", "precision"): "--precision",
    ("axes", "batch_size"): "--batch-sizes",
    ("axes", "sequence_length"): "--sequence-lengths",
    ("axes", "image_size"): "--image-sizes",
    ("axes", "audio_seconds"): "--audio-seconds",
    ("axes", "new_tokens"): "--new-tokens",
    ("axes", "mode"): "--mode",
    ("axes", "scenario"): "--scenario",
    ("axes", "target_qps"): "--target-qps",
    ("axes", "slo_ms"): "--slo-ms",
    ("measure", "profile"): "--profile",
    ("measure", "iterations"): "--iterations",
    ("limits", "cell_timeout"): "--cell-timeout",
    ("limits", "memory"): "--memory",
    ("axes",): "bench",
}
_NUMBER = re.compile(r"[0-9]{1,19}(\.[0-9]{1,19})?")


@dataclass(frozen=True)
class BenchOptions:
    """What `orchestrator bench` takes; an option that repeats or holds commas is a list."""

    models: Sequence[str] = ()
    """Models, sets or files of custom models."""
    families: Sequence[str] = ()
    """All catalogued models of these families."""
    every_model: bool = False
    """All catalogued models."""
    backends: Sequence[str] = ()
    """Hardware paths; cpu if empty."""
    runtimes: Sequence[str] = ()
    """Runtimes; the backend's own choice if empty."""
    precisions: Sequence[str] = ()
    """Number formats; fp32 if empty."""
    batch_sizes: Sequence[str] = ()
    """Samples in one query; 1 if empty."""
    sequence_lengths: Sequence[str] = ()
    """Tokens in one sample; 128 if empty."""
    image_sizes: Sequence[str] = ()
    """Height and width of an image, pixels; the model's own if empty."""
    audio_seconds: Sequence[str] = ()
    """Seconds of sound in one sample; the model's own if empty."""
    new_tokens: Sequence[str] = ()
    """Tokens to generate for each sample; 32 if empty."""
    modes: Sequence[str] = ()
    """What is measured; inference if empty."""
    scenarios: Sequence[str] = ()
    """How queries arrive; single_stream if empty."""
    target_qps: Sequence[str] = ()
    """Queries per second that scenario server offers; find_peak if empty."""
    slo_ms: Sequence[str] = ()
    """Milliseconds that 99 % of queries must meet at the rate sought; 100 if empty."""
    profile: str = "quick"
    """The measurement profile."""
    iterations: int | None = None
    """Fewest timed iterations; the profile's if None."""
    cell_timeout: str | None = None
    """Time that each cell may take, e.g. `20m`."""
    memory: str | None = None
    """Memory that a job may use, e.g. `8GiB`."""


def bench_matrix(options: BenchOptions) -> Matrix:
    """The matrix that the options describe, checked as a file is.

    Raises:
        UsageError: an option is wrong; the message names it.
    """
    axes = {
        "model": _models(options),
        "backend": split(options.backends),
        "runtime": split(options.runtimes),
        "precision": split(options.precisions),
        "batch_size": _numbers(options.batch_sizes),
        "sequence_length": _numbers(options.sequence_lengths),
        "image_size": _numbers(options.image_sizes),
        "audio_seconds": _numbers(options.audio_seconds),
        "new_tokens": _numbers(options.new_tokens),
        "mode": split(options.modes),
        "scenario": split(options.scenarios),
        "target_qps": _numbers(options.target_qps),
        "slo_ms": _numbers(options.slo_ms),
    }
    data = {
        "version": 1,
        "axes": {axis: values for axis, values in axes.items() if values},
        "measure": _given(profile=options.profile, iterations=options.iterations),
        "limits": _given(cell_timeout=options.cell_timeout, memory=options.memory),
    }
    return resolve(Source("bench", data, options=_OPTIONS))


def _models(options: BenchOptions) -> list[str]:
    models = split(options.models)
    families = split(options.families)
    ways = [bool(models), bool(families), options.every_model]
    if sum(ways) != 1:
        raise UsageError(
            "bench: name the models by exactly one of --model, --family and --all",
            hint="`orchestrator models list` shows them",
        )
    if options.every_model:
        return list(catalogue())
    for family in families:
        if family not in get_args(Family):
            raise UsageError(f"--family: {not_one_of(family, get_args(Family))}")
    return models or [name for name, spec in catalogue().items() if spec.family in families]


def split(values: Sequence[str]) -> list[str]:
    """The values of an option that may be repeated, and may hold commas."""
    return [item.strip() for value in values for item in value.split(",")]


def _numbers(values: Sequence[str]) -> list[int | float | str]:
    """Numbers where they are; what is none stays text, for the matrix to take or refuse."""
    return [_number(item) for item in split(values)]


def _number(text: str) -> int | float | str:
    if not _NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
