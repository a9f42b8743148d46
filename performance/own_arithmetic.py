"""Honest differences of graph runtimes' own arithmetic, by torch's for the same models."""

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
from runner.correctness.differences import AnyArray, Arrays, Difference, differences_by_output
from runner.correctness.honest import PRECISIONS, few_valued, take_honest
from runner.correctness.reference import (
    GENERATED_TOKENS,
    compute_outputs,
    compute_steps,
    fixed_cell,
    reference_arrays,
)
from runner.correctness.tolerance import FLOORS, MARGIN, METHODS, method_of
from runner.job.prepare import prepare_graphs
from runner.measure.clock import monotonic
from runner.process.streams import Progress

PATHS: tuple[tuple[Backend, Runtime, Precision], ...] = (
    ("cpu", "onnxruntime", "int8"),
    ("openvino", "openvino", "int8"),
    ("qnn", "onnxruntime", "int8"),
    ("qnn", "onnxruntime", "fp16"),
)


class Ratio(NamedTuple):
    """An arithmetic's worst difference of one kind by torch's, and where that is."""

    precision: Precision
    """The precision."""
    method: str
    """The beginning of the method's name, as `METHODS` has it."""
    kind: str
    """The kind of difference."""
    ratio: float
    """The difference by torch's."""
    where: str
    """The model and the output."""


def ratios(model: str) -> Iterator[Ratio]:
    """For each arithmetic that takes the model, its worst differences by torch's."""
    for mode in modes_of(model):
        plain = job_of(model, mode, "fp32")
        reference = dict(reference_arrays(plain, monotonic))
        honest = {one: take_honest(dict(reference), one)[0] for one in PRECISIONS}
        take_honest(reference, "fp32")
        reference.pop(GENERATED_TOKENS, None)
        for backend, runtime, precision in PATHS:
            if not honest[precision]:
                continue
            try:
                job = job_of(model, mode, precision, backend, runtime)
                method, outputs = _compute(job)
                ours = of_many_values(differences_by_output(outputs, reference), reference)
                yield from _worst(job.cells[0], method, ours, honest[precision])
            except (BenchError, KeyError) as refusal:
                line = f"{model} {mode} {backend} {runtime} {precision}: {str(refusal)[:120]}"
                print(line, flush=True)


def of_many_values(
    differences: Mapping[str, Difference], reference: Arrays
) -> Mapping[str, Difference]:
    """Those of outputs with enough values to tell; all if each output has few."""
    few = few_valued(reference)
    many = {name: one for name, one in differences.items() if name not in few}
    return many or differences


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
    """The arithmetic's name and the outputs of a prepared graph, which is exported first."""
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
            return str(method_of(cell, session.columns)), outputs


def _worst(
    cell: Cell, method: str, ours: Mapping[str, Difference], honest: Mapping[str, Difference]
) -> Iterator[Ratio]:
    precision = cell.precision
    pattern = next(one for one in METHODS[precision] if re.match(one, method))
    for index, kind in enumerate(Difference._fields):
        least = FLOORS[precision][index] / MARGIN
        ratio, output = max(
            (difference[index] / max(honest[name][index], least), name)
            for name, difference in ours.items()
        )
        yield Ratio(precision, pattern, kind, ratio, f"{output} of {cell.model}")
