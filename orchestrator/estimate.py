"""A rough guess of how long cells take, from arithmetic alone. Never a measurement.

One query costs about 2 × parameters × batch size × tokens floating-point operations, where an
image counts its patches as tokens. Divided by a modest speed for the backend, that gives seconds
per query; the profile tells how many queries, or how many seconds of them, a cell makes.
"""

from collections.abc import Mapping
from typing import Any

from runner.cell import Backend, Cell, Measure
from runner.models import ModelSpec

_OPERATIONS_PER_SECOND: Mapping[Backend, float] = {
    "cpu": 1e11,
    "cuda": 1e13,
    "rocm": 1e13,
    "mps": 2e12,
    "openvino": 2e11,
    "qnn": 1e12,
    "webnn": 5e11,
    "webgpu": 5e11,
    "wasm": 1e10,
    "fake": 1e15,
}
_QUERY_S = 1e-4
_LAUNCH_S = 6.0
_PARAMETERS_LOADED_PER_SECOND = 1e8
_UNKNOWN_PARAMETERS = 100_000_000


def cell_estimate(cell: Cell, model: ModelSpec, measure: Measure) -> float:
    """Seconds that measuring the cell may take: first query, warm-up and steady phase."""
    work = 2.0 * _parameters(model) * cell.batch_size * (cell.sequence_length or _patches(model))
    query = _QUERY_S + work / _OPERATIONS_PER_SECOND[cell.backend]
    warmup = max(query, min(query * measure.warmup_iterations, measure.warmup_max_s))
    steady = max(query, min(max(query * measure.iterations, measure.min_s), measure.max_s))
    return query + warmup + steady


def launch_estimate(model: ModelSpec) -> float:
    """Seconds that starting a job and loading its model may take."""
    return _LAUNCH_S + _parameters(model) / _PARAMETERS_LOADED_PER_SECOND


def _parameters(model: ModelSpec) -> float:
    """Published, or those of a transformer of the configured width and depth."""
    if model.parameters is not None:
        return model.parameters
    width = _first_number(model.config, "hidden_size", "n_embd")
    depth = _first_number(model.config, "num_hidden_layers", "n_layer")
    words = _first_number(model.config, "vocab_size")
    return 12.0 * depth * width**2 + words * width or _UNKNOWN_PARAMETERS


def _patches(model: ModelSpec) -> float:
    image = _first_number(model.config, "image_size")
    patch = _first_number(model.config, "patch_size")
    return (image / patch) ** 2 if image and patch else 1.0


def _first_number(config: Mapping[str, Any], *keys: str) -> float:
    values = (config[key] for key in keys if type(config.get(key)) in (int, float))
    return next((float(value) for value in values if value > 0), 0.0)
