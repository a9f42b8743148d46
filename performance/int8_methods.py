"""Honest differences of ways to int8 that graph runtimes have, by torch's for the same models."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from runner.backends import load_runtime
from runner.contract.artifact_keys import GRAPHS, graph_key
from runner.contract.axes import Backend, Mode, Precision, Runtime
from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.graph import graph_kind, number_format
from runner.contract.job import PROFILES, Job, Limits, Provenance
from runner.contract.models import find
from runner.contract.support import generates
from runner.correctness.differences import AnyArray, Difference
from runner.correctness.honest import PRECISIONS, honest_by_output, take_honest
from runner.correctness.reference import (
    GENERATED_TOKENS,
    compute_outputs,
    compute_steps,
    fixed_cell,
    reference_arrays,
)
from runner.correctness.tolerance import FLOORS, MARGIN, METHODS
from runner.job.prepare import prepare_graphs
from runner.measure.clock import monotonic
from runner.process.streams import Progress

PATHS: tuple[tuple[Backend, Runtime], ...] = (
    ("cpu", "onnxruntime"),
    ("openvino", "openvino"),
    ("qnn", "onnxruntime"),
)


class Ratio(NamedTuple):
    """A method's worst difference by torch's, and where that is."""

    method: str
    """The beginning of the method's name, as `METHODS` has it."""
    ratio: float
    """The difference by torch's."""
    where: str
    """The model and the output."""


def ratios(model: str) -> Iterator[Ratio]:
    """For each method that takes the model, its worst difference by torch's."""
    for mode in modes_of(model):
        plain = job_of(model, mode, "fp32")
        reference = dict(reference_arrays(plain, monotonic))
        honest, _ = take_honest(reference, "int8")
        reference.pop(GENERATED_TOKENS, None)
        for backend, runtime in PATHS if honest else ():
            try:
                method, outputs = _compute(job_of(model, mode, "int8", backend, runtime))
                yield _worst(model, method, honest_by_output(outputs, reference), honest)
            except (BenchError, KeyError) as refusal:
                print(f"{model} {mode} {backend} {runtime}: {str(refusal)[:120]}", flush=True)


def modes_of(model: str) -> tuple[Mode, ...]:
    """The modes whose references differ."""
    return ("inference", "generation") if generates(find(model)) else ("inference",)


def job_of(
    model: str,
    mode: Mode,
    precision: Precision,
    backend: Backend = "cpu",
    runtime: Runtime = "torch",
) -> Job:
    """A job of one cell at the shape of references; its own is named after the mode."""
    cell = Cell(
        model=model,
        backend=backend,
        runtime=runtime,
        precision=precision,
        batch_size=2,
        sequence_length=32 if find(model).takes_sequence else None,
        mode=mode,
        new_tokens=4 if mode == "generation" else None,
    )
    job = Job(
        run_id="correctness",
        id=cell.job_id,
        purpose="verify",
        model=find(model),
        cells=(cell,),
        measure=PROFILES["quick"],
        limits=Limits(),
        seed=0,
        provenance=Provenance(launcher="process", orchestrator_version="0"),
        reference=mode,
        honest=PRECISIONS,
    )
    return job.model_copy(update={"cells": (fixed_cell(job),)})


def _compute(job: Job) -> tuple[str, dict[str, AnyArray]]:
    """The method and the outputs of a prepared graph, which is exported first."""
    cell = job.cells[0]
    key = graph_key(
        job.model,
        graph_kind(cell),
        number_format(cell),
        job.weights_seed,
        GRAPHS.versions(GRAPHS.installed()),
    )
    job = job.model_copy(update={"graph": key})
    with TemporaryDirectory() as name, Path(os.devnull).open("w") as nothing:
        prepare_graphs(job, Path(name), Progress(nothing), monotonic)
        runtime = load_runtime(cell.runtime)
        with closing(runtime.open_session(job, 2, Path(name))) as session:
            outputs: dict[str, AnyArray] = dict(compute_outputs(session, job))
            if cell.mode == "generation":
                outputs |= compute_steps(session, job, monotonic)
            return str(session.columns["quantization"]), outputs


def _worst(
    model: str, method: str, ours: Mapping[str, Difference], honest: Mapping[str, Difference]
) -> Ratio:
    pattern = next(one for one in METHODS if re.match(one, method))
    ratio, where = max(
        (value / max(own, floor / MARGIN), f"{kind} of {output} of {model}")
        for output, difference in ours.items()
        for kind, value, own, floor in zip(
            Difference._fields, difference, honest[output], FLOORS["int8"], strict=True
        )
    )
    return Ratio(pattern, ratio, where)
