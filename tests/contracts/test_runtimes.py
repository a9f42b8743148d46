"""What every runtime promises to the harness; a new runtime joins by adding a job here."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.backends import RUNTIMES, load_runtime
from runner.backends.base import RuntimeModule, Session
from runner.cell import Cell, Job
from runner.errors import Unsupported
from runner.inputs import Inputs, synthesise, synthesise_labels
from runner.models import ModelSpec
from tests.fakes import FakeClock
from tests.jobs import a_job, fake_cell, fake_model
from tests.tiny_models import tiny_decoder, tiny_encoder_decoder, torch_cell


def two_shapes(model: ModelSpec, **changes: Any) -> Job:
    """A job whose cells differ in batch size."""
    cells = [torch_cell(model, size, new_tokens=5, **changes) for size in (1, 3)]
    return a_job(cells, model)


JOBS = {
    "fake": a_job(
        [fake_cell(1, new_tokens=5), fake_cell(3, new_tokens=5)], fake_model(latency_s=0)
    ),
    "torch": two_shapes(tiny_decoder()),
    "torch-bf16": two_shapes(tiny_decoder(), precision="bf16"),
    "torch-encoder-decoder": two_shapes(tiny_encoder_decoder()),
    "torch-encoder-decoder-bf16": two_shapes(tiny_encoder_decoder(), precision="bf16"),
}


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.torch] if name.startswith("torch") else [])
        for name in JOBS
    ],
    scope="module",
)
def job(request: pytest.FixtureRequest) -> Job:
    return JOBS[request.param]


@pytest.fixture(scope="module")
def runtime(job: Job) -> RuntimeModule:
    return load_runtime(job.cells[0].runtime)


@pytest.fixture(scope="module")
def session(job: Job, runtime: RuntimeModule) -> Iterator[Session]:
    with closing(runtime.open_session(job, threads=1)) as session:
        yield session


def inputs_of(job: Job, cell: Cell) -> Inputs:
    return synthesise(job.model, cell, seed=0)


def batch_of(job: Job, cell: Cell) -> Inputs:
    labels = {} if cell.backend == "fake" else synthesise_labels(job.model, cell, seed=0)
    return {**inputs_of(job, cell), **labels}


def test_every_runtime_is_held_to_the_contract() -> None:
    assert {job.cells[0].runtime for job in JOBS.values()} == set(RUNTIMES)


def test_one_session_answers_queries_of_every_shape(job: Job, session: Session) -> None:
    for cell in job.cells:
        query = session.bind(cell, inputs_of(job, cell))
        assert session.all_finite(query())
        assert session.all_finite(query())


def test_a_session_tells_what_it_runs_on(session: Session) -> None:
    assert session.device_name
    assert session.timed_region
    assert session.parameters >= 0
    assert session.threads is None or session.threads == 1
    assert session.interop_threads is None or session.interop_threads > 0
    assert all(session.libraries.values())


def test_a_session_tells_how_long_the_stages_of_loading_took(session: Session) -> None:
    assert set(session.stages_ns) == {"instantiate", "weights"}
    assert all(duration >= 0 for duration in session.stages_ns.values())


def test_outputs_become_named_arrays_that_are_the_same_each_time(
    job: Job, session: Session
) -> None:
    cell = job.cells[1]
    query = session.bind(cell, inputs_of(job, cell))
    once, again = session.arrays(query()), session.arrays(query())
    assert once
    assert all(array.dtype == np.float32 for array in once.values())
    assert all(len(array) == cell.batch_size for array in once.values())
    assert once.keys() == again.keys()
    assert all((once[name] == again[name]).all() for name in once)


def test_an_empty_query_is_called_as_a_real_one(session: Session) -> None:
    query = session.empty()
    query()
    query()


def test_as_many_tokens_are_generated_as_asked_each_with_its_time(
    job: Job, session: Session
) -> None:
    for cell in job.cells:
        generate = session.bind_generation(cell, inputs_of(job, cell), FakeClock())
        for _ in range(2):
            generated = generate()
            assert generated.tokens.shape == (cell.batch_size, 5)
            assert generated.tokens.dtype == np.int64
            times = [generated.started_ns, *generated.token_times_ns]
            assert len(times) == 6
            assert times == sorted(set(times))


def test_generation_is_greedy_so_it_repeats_itself(job: Job, session: Session) -> None:
    cell = job.cells[1]
    generate = session.bind_generation(cell, inputs_of(job, cell), FakeClock())
    assert (generate().tokens == generate().tokens).all()


def test_generation_needs_a_number_of_tokens(job: Job, session: Session) -> None:
    cell = job.cells[0].model_copy(update={"new_tokens": None})
    with pytest.raises(Unsupported, match="generation needs new_tokens"):
        session.bind_generation(cell, inputs_of(job, cell), FakeClock())


def test_a_training_step_is_timed_part_by_part(job: Job, session: Session) -> None:
    cell = job.cells[1]
    with closing(session.bind_training(cell, batch_of(job, cell), FakeClock())) as trainer:
        trainer.step()
        step = trainer.step()
    parts = [step.forward_ns, step.backward_ns, step.optimizer_ns, step.loss_ns or 0]
    assert min(parts[:3]) > 0
    assert sum(parts) == step.ended_ns - step.started_ns
    assert np.isfinite(step.loss)


def test_training_changes_the_parameters(job: Job, session: Session) -> None:
    cell = job.cells[0]
    with closing(session.bind_training(cell, batch_of(job, cell), FakeClock())) as trainer:
        assert not trainer.has_learnt()
        trainer.step()
        assert trainer.has_learnt()


def test_after_training_a_session_answers_as_before(job: Job, session: Session) -> None:
    cell = job.cells[0]
    query = session.bind(cell, inputs_of(job, cell))
    before = session.arrays(query())
    with closing(session.bind_training(cell, batch_of(job, cell), FakeClock())) as trainer:
        trainer.step()
    after = session.arrays(query())
    assert all((before[name] == after[name]).all() for name in before)


def test_training_starts_from_the_same_place_each_time(job: Job, session: Session) -> None:
    cell = job.cells[0]
    losses = []
    for _ in range(2):
        with closing(session.bind_training(cell, batch_of(job, cell), FakeClock())) as trainer:
            losses.append([trainer.step().loss for _ in range(2)])
    assert losses[0] == losses[1]


def test_a_session_proves_the_device_or_admits_that_it_cannot(job: Job, session: Session) -> None:
    cell = job.cells[0]
    proof, evidence = session.prove(session.bind(cell, inputs_of(job, cell)))
    assert proof == ("none" if cell.backend == "fake" else "proven")
    assert evidence["claimed"] == cell.backend


def test_a_trace_and_a_table_of_operators_are_written_whole(
    job: Job, session: Session, tmp_path: Path
) -> None:
    cell = job.cells[0]
    session.trace(session.bind(cell, inputs_of(job, cell)), tmp_path / "v1.5-b1")
    assert {path.name for path in tmp_path.iterdir()} == {
        "v1.5-b1.trace.json",
        "v1.5-b1.operators.txt",
    }
    trace = json.loads((tmp_path / "v1.5-b1.trace.json").read_bytes())
    assert trace["traceEvents"]
    assert (tmp_path / "v1.5-b1.operators.txt").read_text("utf-8").strip()


def test_a_device_that_uses_the_hosts_memory_has_none_of_its_own(session: Session) -> None:
    assert session.device_memory(reset=True) is None
    assert session.device_memory() is None


def test_ordinary_errors_are_not_taken_for_lack_of_memory(runtime: RuntimeModule) -> None:
    assert not runtime.is_out_of_memory(RuntimeError("shape mismatch"))
    assert not runtime.is_out_of_memory(ValueError())


def test_a_runtime_nobody_wrote_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="onnxruntime_web"):
        load_runtime("onnxruntime_web")


@pytest.mark.torch
def test_infinite_outputs_are_noticed() -> None:
    job = JOBS["torch"]
    with closing(load_runtime("torch").open_session(job, threads=1)) as session:
        poisoned = dict(inputs_of(job, job.cells[0]))
        poisoned["inputs_embeds"] = np.full((1, 8, 16), np.nan, dtype=np.float32)
        del poisoned["input_ids"]
        assert not session.all_finite(session.bind(job.cells[0], poisoned)())
