"""What every runtime promises to the harness; a new runtime joins by adding a job here."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from runner.backends import RUNTIMES, load_runtime
from runner.backends.base import RuntimeModule, Session
from runner.cell import Cell, Job
from runner.errors import Unsupported
from runner.inputs import synthesise
from runner.models import find
from tests.jobs import a_job, fake_cell


def cpu_cell(**changes: Any) -> Cell:
    return fake_cell(**{"model": "bert-tiny", "backend": "cpu", "runtime": "torch", **changes})


JOBS = {
    "fake": a_job([fake_cell(1), fake_cell(3)]),
    "torch": a_job([cpu_cell(batch_size=1), cpu_cell(batch_size=3)], find("bert-tiny")),
}


@pytest.fixture(params=JOBS, scope="module")
def job(request: pytest.FixtureRequest) -> Job:
    return JOBS[request.param]


@pytest.fixture(scope="module")
def runtime(job: Job) -> RuntimeModule:
    return load_runtime(job.cells[0].runtime)


@pytest.fixture(scope="module")
def session(job: Job, runtime: RuntimeModule) -> Iterator[Session]:
    with closing(runtime.open_session(job, threads=1)) as session:
        yield session


def test_every_runtime_is_held_to_the_contract() -> None:
    assert set(JOBS) == set(RUNTIMES)


def test_one_session_answers_queries_of_every_shape(job: Job, session: Session) -> None:
    for cell in job.cells:
        query = session.bind(cell, synthesise(job.model, cell, seed=0))
        assert session.all_finite(query())
        assert session.all_finite(query())


def test_a_session_tells_what_it_runs_on(session: Session) -> None:
    assert session.device_name
    assert session.timed_region
    assert session.parameters >= 0
    assert session.threads is None or session.threads == 1
    assert all(session.libraries.values())


def test_a_session_proves_the_device_or_admits_that_it_cannot(job: Job, session: Session) -> None:
    session.bind(job.cells[0], synthesise(job.model, job.cells[0], seed=0))
    proof, evidence = session.prove()
    assert proof == ("none" if job.cells[0].backend == "fake" else "proven")
    assert evidence["claimed"] == job.cells[0].backend


def test_ordinary_errors_are_not_taken_for_lack_of_memory(runtime: RuntimeModule) -> None:
    assert not runtime.is_out_of_memory(RuntimeError("shape mismatch"))
    assert not runtime.is_out_of_memory(ValueError())


def test_a_runtime_nobody_wrote_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="onnxruntime_web"):
        load_runtime("onnxruntime_web")


def test_infinite_outputs_are_noticed() -> None:
    job = JOBS["torch"]
    with closing(load_runtime("torch").open_session(job, threads=1)) as session:
        poisoned = dict(synthesise(job.model, job.cells[0], seed=0))
        embeddings = np.full((1, 8, 128), np.nan, dtype=np.float32)
        poisoned["inputs_embeds"] = embeddings
        del poisoned["input_ids"]
        assert not session.all_finite(session.bind(job.cells[0], poisoned)())
