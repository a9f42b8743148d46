"""Quantise graphs to int8 when a job loads, by NNCF's post-training quantisation."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import openvino as ov

from runner.backends.graphs.session import run_parts
from runner.backends.openvino.device import operator_types, refusals
from runner.contract.cell import Cell
from runner.contract.errors import Unavailable
from runner.contract.graph import DYNAMIC, Graph, Part
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.inputs import Inputs, calibration_queries
from runner.measure.clock import monotonic, seconds
from runner.measure.environment import versions

_SAMPLES = 8
_SEED_OFFSET = 1_000
"""Added to the job's seed, so that calibration draws other inputs than those measured."""
_PRODUCTS = frozenset({"FullyConnected", "MatMul", "Gemm", "Convolution", "GroupConvolution"})

PartModels = Mapping[Part, ov.Model]
Compile = Callable[[ov.Model], ov.CompiledModel]


@dataclass(frozen=True)
class Quantized:
    """Parts in int8, and the method of their quantisation."""

    models: PartModels
    method: str
    activations: bool
    """True if activations are int8 as well as weights, so that products take int8."""
    duration_s: float


def quantize(
    job: Job, cell: Cell, graph: Graph, models: PartModels, compile_: Compile
) -> Quantized:
    """Parts in int8; of a generating graph weights alone, as tokens would calibrate its cache."""
    nncf = _import_nncf()
    activations = graph.content == "forward"
    start = monotonic()
    with refusals("quantise the graph with NNCF"):
        if not activations:
            how = "weights alone, int8_asym per channel"
            parts = {name: nncf.compress_weights(model.clone()) for name, model in models.items()}
        else:
            how = (
                "post-training, preset mixed, model type transformer, "
                f"{_SAMPLES} seeded samples drawn as inputs are, half padded"
            )
            samples = calibration(job, cell, graph, models, compile_)
            parts = {
                name: nncf.quantize(
                    model,
                    nncf.Dataset(list(samples[name])),
                    preset=nncf.QuantizationPreset.MIXED,
                    subset_size=_SAMPLES,
                    model_type=nncf.ModelType.TRANSFORMER,
                )
                for name, model in models.items()
            }
    version = versions(["nncf"]).get("nncf", "")
    duration_s = seconds(monotonic() - start)
    return Quantized(parts, f"NNCF {version}, {how}", activations, duration_s)


def calibration(
    job: Job, cell: Cell, graph: Graph, models: PartModels, compile_: Compile
) -> dict[Part, list[Inputs]]:
    """Each part's inputs over queries of the cell's shape; single samples if that is open."""
    samples: dict[Part, list[Inputs]] = {name: [] for name in models}
    last = list(models)[-1]
    compiled = {name: compile_(model) for name, model in models.items() if name != last}

    def call(name: Part) -> Callable[[Inputs], Inputs]:
        def record(inputs: Inputs) -> Inputs:
            samples[name].append(inputs)
            if name == last:
                return {}
            given = compiled[name](dict(inputs))
            return {output: given[output] for output in graph.parts[name].outputs}

        return record

    single = cell.model_copy(update={"batch_size": 1}) if graph.shape == DYNAMIC else cell
    seeds = range(job.weights_seed + _SEED_OFFSET, job.weights_seed + _SEED_OFFSET + _SAMPLES)
    for inputs in calibration_queries(job.model, single, seeds):
        run_parts(graph.takes, {name: call(name) for name in models}, inputs)
    return samples


def int8_products(compiled: ov.CompiledModel) -> int:
    types = Counter(operator_types(compiled))
    return sum(
        n for (kind, type_), n in types.items() if kind in _PRODUCTS and type_ in {"i8", "u8"}
    )


def _import_nncf() -> Any:
    try:
        import nncf
    except ModuleNotFoundError as error:
        raise Unavailable(reason("int8_package_missing", package=error.name)) from error
    nncf.set_log_level(logging.ERROR)
    return nncf
