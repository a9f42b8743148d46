"""Jobs and sessions of real models in this process, for measurements of the runner itself."""

from typing import Any

from runner.backends import load_runtime
from runner.backends.base import Session
from runner.contract.axes import Mode, Precision
from runner.contract.cell import Cell
from runner.contract.job import PROFILES, Job, Limits, Measure, Provenance
from runner.contract.models import find
from runner.contract.support import generates
from runner.correctness.honest import PRECISIONS
from runner.correctness.reference import fixed_cell
from runner.measure.environment import read_environment, usable_cpus


def torch_job(model: str, measure: Measure = PROFILES["quick"], **axes: Any) -> Job:
    """A job of one cell: batch 1, 128 tokens, fp32, on the CPU, unless `axes` say otherwise."""
    spec = find(model)
    usual = {"model": model, "backend": "cpu", "runtime": "torch", "precision": "fp32"}
    length = 128 if spec.takes_sequence else None
    size = {"batch_size": 1, "sequence_length": length, "mode": "inference"}
    cell = Cell.model_validate({**usual, **size, **axes})
    return Job(
        run_id="performance",
        id=cell.job_id,
        model=spec,
        cells=(cell,),
        measure=measure,
        limits=Limits(),
        seed=0,
        provenance=Provenance(launcher="process", orchestrator_version="0"),
    )


def open_job_session(job: Job) -> Session:
    """The job's model, loaded as the harness does."""
    runtime = load_runtime(job.cells[0].runtime)
    return runtime.open_session(job, usable_cpus(read_environment()))


def modes_of(model: str) -> tuple[Mode, ...]:
    """The modes whose references differ."""
    return ("inference", "generation") if generates(find(model)) else ("inference",)


def verification_job(model: str, mode: Mode, precision: Precision) -> Job:
    """A job of one cell of torch at the shape of references."""
    job = torch_job(model, precision=precision, mode=mode)
    changes = {"purpose": "verify", "reference": mode, "honest": PRECISIONS}
    return job.model_copy(update={**changes, "cells": (fixed_cell(job),)})
