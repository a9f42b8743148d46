"""The contract that every runtime in the registry fulfils."""

import json
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from runner.backends import RUNTIME_MODULES, load_runtime
from runner.backends.base import RuntimeModule, Session
from runner.contract.axes import IN_CHILDREN, Backend, Mode, Runtime
from runner.contract.cell import Cell
from runner.contract.errors import RecordNotSaved, Unsupported
from runner.contract.job import Job
from runner.contract.models import ModelSpec
from runner.inputs import Inputs, synthesise, synthesise_labels
from tests.support.fakes import FakeClock
from tests.support.jobs import a_job, fake_cell, fake_model
from tests.support.onnx_graphs import layer, onnx_cell, onnx_job, save_graph
from tests.support.openvino_models import openvino_cell, openvino_job
from tests.support.prepared import PreparedGraphs
from tests.support.tiny_models import DECODER, tiny, tiny_decoder, tiny_encoder_decoder, torch_cell
from tests.support.words import raises_words

BACKENDS: Mapping[Runtime, Backend] = {
    "fake": "fake",
    "openvino": "openvino",
    "onnxruntime_web": "wasm",
}
"""Backends on which runtimes are tested, other than the CPU."""
EXPORTED: Set[Runtime] = {"onnxruntime", "openvino", "onnxruntime_web"}
"""Runtimes that execute prepared graphs, each made for one mode."""
REFUSED: Mapping[Runtime, Set[Mode]] = {
    "onnxruntime": {"training"},
    "openvino": {"training"},
    "onnxruntime_web": {"training"},
    "torch_compile": {"generation"},
}
"""Modes that a runtime refuses."""
WITHOUT_PROFILER: Set[Runtime] = {"onnxruntime_web"}
MODELS = {"decoder": tiny_decoder(), "encoder-decoder": tiny_encoder_decoder()}


def two_shapes(model: ModelSpec, runtime: Runtime, **changes: Any) -> Job:
    """A job whose cells differ in batch size."""
    fields = {"runtime": runtime, "backend": BACKENDS.get(runtime, "cpu"), "new_tokens": 5}
    return a_job([torch_cell(model, size, **{**fields, **changes}) for size in (1, 3)], model)


def jobs_of(runtime: Runtime) -> Iterator[tuple[str, Job]]:
    """The jobs that test a runtime of the registry."""
    if runtime == "fake":
        fakes = [fake_cell(size, new_tokens=5) for size in (1, 3)]
        yield "fake", a_job(fakes, fake_model(latency_s=0))
        return
    if runtime == "torch_compile":  # which takes seconds for every shape of the smallest model
        yield runtime, two_shapes(tiny("AutoModelForCausalLM", DECODER), runtime)
        return
    for name, model in MODELS.items():
        yield f"{runtime}-{name}", two_shapes(model, runtime)
        if runtime in EXPORTED:
            yield f"{runtime}-{name}-generation", two_shapes(model, runtime, mode="generation")


JOBS = {
    **{name: job for runtime in RUNTIME_MODULES for name, job in jobs_of(runtime)},
    "torch-decoder-bf16": two_shapes(tiny_decoder(), "torch", precision="bf16"),
    "torch-encoder-decoder-bf16": two_shapes(tiny_encoder_decoder(), "torch", precision="bf16"),
    "torch-decoder-bf16-training": two_shapes(
        tiny_decoder(), "torch", precision="bf16", mode="training"
    ),
    "onnxruntime-layer": onnx_job(onnx_cell(1), onnx_cell(3)),
    "openvino-layer": openvino_job(openvino_cell(1), openvino_cell(3)),
    "onnxruntime-decoder-int8": two_shapes(tiny_decoder(), "onnxruntime", precision="int8"),
    "wasm-decoder-int8": two_shapes(tiny_decoder(), "onnxruntime_web", precision="int8"),
    "webnn-decoder-generation": two_shapes(
        tiny_decoder(), "onnxruntime_web", backend="webnn", mode="generation"
    ),
    "webgpu-decoder-generation": two_shapes(
        tiny_decoder(), "onnxruntime_web", backend="webgpu", mode="generation"
    ).model_copy(update={"purpose": "verify"}),  # which takes a software adapter
}


def able(mode: Mode) -> list[str]:
    """The jobs whose runtime has that mode."""
    return [name for name, job in JOBS.items() if can(job.cells[0], mode)]


def can(cell: Cell, mode: Mode) -> bool:
    """Below fp32, training alone keeps its parameters in fp32, so its sessions are its own."""
    of_one_mode = cell.runtime in EXPORTED or (cell.precision != "fp32" and mode == "training")
    return mode not in REFUSED.get(cell.runtime, ()) and (not of_one_mode or cell.mode == mode)


def params(names: Iterable[str]) -> list[Any]:
    """The jobs as parameters; those that load a real model, export or compile one are marked."""
    return [pytest.param(name, marks=marks(name, JOBS[name])) for name in names]


def marks(name: str, job: Job) -> list[pytest.MarkDecorator]:
    runtime = job.cells[0].runtime
    if job.model.architecture == "none":
        return []
    if runtime == "torch_compile":  # which compiles for minutes what torch computes
        return [pytest.mark.nightly]
    if runtime not in EXPORTED:
        return []
    # Generation answers what inference does, and more; the runtimes share the graph of this one.
    is_one = name == f"{runtime}-decoder-generation"
    return [pytest.mark.slow if is_one else pytest.mark.nightly]


def refusing(mode: Mode) -> list[str]:
    """The jobs whose runtime cannot have that mode."""
    return [name for name, job in JOBS.items() if mode in REFUSED.get(job.cells[0].runtime, ())]


generating = pytest.mark.parametrize("job", params(able("generation")), indirect=True)
training = pytest.mark.parametrize("job", params(able("training")), indirect=True)
traced = pytest.mark.parametrize(
    "job",
    params(name for name, job in JOBS.items() if job.cells[0].runtime not in WITHOUT_PROFILER),
    indirect=True,
)
untraced = pytest.mark.parametrize(
    "job",
    params(name for name, job in JOBS.items() if job.cells[0].runtime in WITHOUT_PROFILER),
    indirect=True,
)
not_training = pytest.mark.parametrize("job", params(refusing("training")), indirect=True)


@pytest.fixture(params=params(JOBS), scope="module")
def job(request: pytest.FixtureRequest, prepared: PreparedGraphs) -> Job:
    job = JOBS[request.param]
    if job.graph and not (prepared.folder / job.graph).exists():
        save_graph(prepared.folder, {"forward": layer()})
    return prepared.named(job) if job.cells[0].runtime in EXPORTED and not job.graph else job


@pytest.fixture(scope="module")
def runtime(job: Job) -> RuntimeModule:
    return load_runtime(job.cells[0].runtime)


@pytest.fixture(scope="module")
def session(job: Job, runtime: RuntimeModule, prepared: PreparedGraphs) -> Iterator[Session]:
    with closing(runtime.open_session(job, 1, prepared.folder)) as session:
        yield session


def inputs_of(job: Job, cell: Cell) -> Inputs:
    return synthesise(job.model, cell, seed=0)


def batch_of(job: Job, cell: Cell) -> Inputs:
    labels = {} if cell.backend == "fake" else synthesise_labels(job.model, cell, seed=0)
    return {**inputs_of(job, cell), **labels}


def test_every_runtime_is_held_to_the_contract() -> None:
    assert {job.cells[0].runtime for job in JOBS.values()} == set(RUNTIME_MODULES)
    assert set(RUNTIME_MODULES) == set(get_args(Runtime))


def test_one_session_answers_queries_of_every_shape_and_empty_ones(
    job: Job, session: Session
) -> None:
    for cell in job.cells:
        query = session.bind(cell, inputs_of(job, cell))
        assert session.all_finite(query())
        assert session.all_finite(query())
    empty = session.empty()
    empty()
    empty()


def test_a_session_names_its_device_libraries_and_durations_of_loading(
    job: Job, session: Session
) -> None:
    assert session.device_name
    assert session.timed_region
    assert session.parameters >= 0
    assert session.threads is None or session.threads == 1
    assert session.interop_threads is None or session.interop_threads > 0
    assert all(session.libraries.values())
    elsewhere = {"interpreter", "import"} if job.cells[0].runtime in IN_CHILDREN else set()
    assert set(session.stages_ns) == {"instantiate", "weights"} | elsewhere
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


def test_outputs_that_are_kept_do_not_change_with_later_queries(job: Job, session: Session) -> None:
    cell = job.cells[1]
    query = session.bind(cell, inputs_of(job, cell))
    kept = session.arrays(query())
    copies = {name: array.copy() for name, array in kept.items()}
    later = session.arrays(query())
    other = session.bind(cell, synthesise(job.model, cell, seed=1))
    other()
    other()
    assert not any(np.shares_memory(kept[name], later[name]) for name in kept)
    assert all((kept[name] == copies[name]).all() for name in kept)


def test_a_session_that_gave_memory_back_answers_as_before(job: Job, session: Session) -> None:
    cell = job.cells[0]
    before = session.arrays(session.bind(cell, inputs_of(job, cell))())
    session.trim()
    after = session.arrays(session.bind(cell, inputs_of(job, cell))())
    assert all((before[name] == after[name]).all() for name in before)


@generating
def test_as_many_tokens_are_generated_as_asked_each_with_its_time_and_greedily(
    job: Job, session: Session
) -> None:
    for cell in job.cells:
        generate = session.bind_generation(cell, inputs_of(job, cell), FakeClock())
        once, again = generate(), generate()
        assert (once.tokens == again.tokens).all()
        assert not np.shares_memory(once.tokens, again.tokens)
        logits = generate.forced(once.tokens)
        as_given = logits.copy()
        generate()
        generate.forced(again.tokens)
        assert (logits == as_given).all()
        for generated in (once, again):
            assert generated.tokens.shape == (cell.batch_size, 5)
            assert generated.tokens.dtype == np.int64
            times = [generated.started_ns, *generated.token_times_ns]
            assert len(times) == 6
            assert times == sorted(set(times))


@generating
def test_generation_needs_a_number_of_tokens(job: Job, session: Session) -> None:
    cell = job.cells[0].model_copy(update={"new_tokens": None})
    with raises_words(Unsupported, match="generation needs new_tokens"):
        session.bind_generation(cell, inputs_of(job, cell), FakeClock())


@training
def test_a_training_step_is_timed_part_by_part_and_changes_the_parameters(
    job: Job, session: Session
) -> None:
    cell = job.cells[1]
    with closing(session.bind_training(cell, batch_of(job, cell), FakeClock())) as trainer:
        assert trainer.unchanged()
        trainer.step()
        assert not trainer.unchanged()
        step = trainer.step()
    parts = [step.forward_ns, step.backward_ns, step.optimizer_ns, step.loss_ns or 0]
    assert min(parts[:3]) > 0
    assert sum(parts) == step.ended_ns - step.started_ns
    assert np.isfinite(step.loss)


@training
def test_training_starts_from_the_same_parameters_each_time_and_leaves_the_session_as_before(
    job: Job, session: Session
) -> None:
    cell, losses = job.cells[1], []
    query = session.bind(cell, inputs_of(job, cell))
    before = session.arrays(query())
    for _ in range(2):
        with closing(session.bind_training(cell, batch_of(job, cell), FakeClock())) as trainer:
            losses.append([trainer.step().loss for _ in range(2)])
    assert losses[0] == losses[1]
    after = session.arrays(query())
    assert all((before[name] == after[name]).all() for name in before)


@not_training
def test_training_is_refused_where_there_are_no_gradients(job: Job, session: Session) -> None:
    cell = job.cells[0]
    with pytest.raises(Unsupported):
        session.bind_training(cell, batch_of(job, cell), FakeClock())


def test_a_session_proves_the_device_or_admits_that_it_cannot(job: Job, session: Session) -> None:
    cell = job.cells[0]
    proof, evidence = session.prove(session.bind(cell, inputs_of(job, cell)))
    assert proof == ("none" if cell.backend == "fake" else "proven")
    assert evidence["claimed"] == evidence.get("execution_devices", cell.backend)


@traced
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


@traced
def test_a_trace_that_cannot_be_taken_or_saved_leaves_nothing(
    job: Job, session: Session, tmp_path: Path
) -> None:
    def fail() -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        session.trace(fail, tmp_path / "cell")
    query = session.bind(job.cells[0], inputs_of(job, job.cells[0]))
    with pytest.raises(RecordNotSaved, match="cannot be written"):
        session.trace(query, tmp_path / "missing" / "cell")
    assert not list(tmp_path.iterdir())


@untraced
def test_without_a_profiler_a_trace_is_refused(job: Job, session: Session, tmp_path: Path) -> None:
    query = session.bind(job.cells[0], inputs_of(job, job.cells[0]))
    with raises_words(Unsupported, match="no profiler"):
        session.trace(query, tmp_path / "cell")


def test_a_device_that_uses_the_hosts_memory_has_none_of_its_own(session: Session) -> None:
    assert session.device_memory(reset=True) is None
    assert session.device_memory() is None


def test_ordinary_errors_are_not_taken_for_lack_of_memory(runtime: RuntimeModule) -> None:
    assert not runtime.is_out_of_memory(RuntimeError("shape mismatch"))
    assert not runtime.is_out_of_memory(ValueError())


def test_infinite_outputs_are_noticed() -> None:
    job = JOBS["torch-decoder"]
    with closing(load_runtime("torch").open_session(job, threads=1)) as session:
        poisoned = dict(inputs_of(job, job.cells[0]))
        poisoned["inputs_embeds"] = np.full((1, 8, 16), np.nan, dtype=np.float32)
        del poisoned["input_ids"]
        assert not session.all_finite(session.bind(job.cells[0], poisoned)())
