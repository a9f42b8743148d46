"""Jobs and their tasks for tests, with values that a test may change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator.images.image import Image
from orchestrator.launchers.base import Task
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.graph import DYNAMIC, Attempt, Graph, GraphPart, Part
from runner.contract.job import PROFILES, Job, Limits, Measure, ProcessSpread, Provenance
from runner.contract.models import ModelSpec, TensorSpec

FAST = PROFILES["quick"].model_copy(
    update={
        "warmup_iterations": 1,
        "warmup_max_s": 0.05,
        "iterations": 3,
        "min_s": 0.0,
        "max_s": 1.0,
        "precision_target": 10.0,
    }
)


def a_spread(cv: float = 0.01) -> ProcessSpread:
    """What a calibration with 8 processes found."""
    return ProcessSpread(cv=cv, processes=8, measured_at=datetime(2026, 11, 23, tzinfo=UTC))


@dataclass(frozen=True)
class OneImage:
    """The same image for every backend."""

    image: Image

    def ensure(self, backend: Backend) -> Image:
        """Nothing to do."""
        return self.image


def fake_model(faults: Mapping[str, str] | None = None, **config: Any) -> ModelSpec:
    """A model for the fake backend with scripted faults."""
    return ModelSpec(
        name="scripted",
        family="embedding",
        task="fill-mask",
        modality="text",
        architecture="none",
        config={"faults": dict(faults or {}), **config},
        inputs=(TensorSpec(name="x", kind="ones", shape=("batch_size", "sequence_length")),),
    )


def fake_cell(batch_size: int = 1, **changes: Any) -> Cell:
    """A cell of the fake backend."""
    values: dict[str, Any] = {
        "model": "scripted",
        "backend": "fake",
        "runtime": "fake",
        "precision": "fp32",
        "batch_size": batch_size,
        "sequence_length": 8,
        "mode": "inference",
    }
    return Cell(**values | changes)


def a_job(
    cells: Sequence[Cell] = (fake_cell(),),
    model: ModelSpec | None = None,
    measure: Measure = FAST,
    limits: Limits | None = None,
) -> Job:
    """A job of these cells."""
    return Job(
        run_id="20260101-000000-test",
        id=cells[0].job_id,
        model=model or fake_model(),
        cells=tuple(cells),
        measure=measure,
        limits=limits or Limits(),
        seed=0,
        provenance=Provenance(launcher="process", orchestrator_version="0"),
    )


def a_task(folder: Path, job: Job | None = None, script: str | None = None) -> Task:
    """The job's task, whose files lie in this folder; a script goes in the job file's place."""
    job = job or a_job()
    job_file, out = folder / "job.json", folder / "out"
    job_file.write_text(job.model_dump_json() if script is None else script)
    out.mkdir(exist_ok=True)
    return Task(job, job.cells[0].backend, job_file, out)


def a_graph(parts: Mapping[Part, GraphPart], **changes: Any) -> Graph:
    """A prepared graph of these parts."""
    values: dict[str, Any] = {
        "model": "tiny",
        "content": "forward",
        "numbers": "fp32",
        "shape": DYNAMIC,
        "parts": dict(parts),
        "attempts": (Attempt(remedy="dynamic shapes", failure=None),),
        "difference_relative": 1e-7,
        "parameters": 1,
        "versions": {},
        "export_s": 1.0,
    }
    return Graph(**values | changes)
