"""A session of a page: it is compared at the shape that was timed, and has no peaks of its own."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from runner.backends.onnxruntime_web.backend import WebSession, open_session
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record.record import Columns
from runner.correctness.compare_outputs import allowed_differences
from runner.correctness.reference import compute_outputs
from runner.correctness.timed_shape import compare_timed, is_compiled_for
from runner.inputs import synthesise
from runner.job.efficiency import Room, peak_columns
from tests.support.fakes import FakeClock
from tests.support.jobs import a_job
from tests.support.onnx_graphs import layer, onnx_cell, onnx_job, save_graph
from tests.support.prepared import PreparedGraphs
from tests.support.siblings import siblings
from tests.support.tiny_models import tiny_decoder, torch_cell

pytestmark = pytest.mark.slow
ROOM = Room(cache_bytes=32 << 20, memory_bytes=None)
NO_PEAKS = {
    "peak_flops_per_s": None,
    "peak_bytes_per_s": None,
    "peak_method": "no kernels of a page are measured",
    "device_cache_bytes": ROOM.cache_bytes,
}


@contextmanager
def opened(backend: Backend, prepared: PreparedGraphs) -> Iterator[tuple[Job, Cell, WebSession]]:
    model = tiny_decoder()
    cell = torch_cell(model, 3, backend=backend, runtime="onnxruntime_web", sequence_length=40)
    job = prepared.named(a_job([cell], model).model_copy(update={"purpose": "verify"}))
    with closing(open_session(job, 1, prepared.folder)) as session:
        yield job, cell, session


@pytest.mark.parametrize("backend", siblings(["wasm", "webnn", "webgpu"], keep=["wasm"]))
def test_outputs_are_compared_by_the_graph_that_was_loaded_for_the_timed_shape(
    backend: Backend, prepared: PreparedGraphs
) -> None:
    with opened(backend, prepared) as (job, cell, session):
        reference: dict[str, Any] = dict(compute_outputs(session, job))
        session.bind(cell, synthesise(job.model, cell, job.weights_seed))
        loaded = session.columns
        assert is_compiled_for(cell, loaded)
        allowed = allowed_differences(reference, "fp32")
        right = compare_timed(session, job, cell, reference, allowed) or {}
        altered = {name: array * 1.01 for name, array in reference.items()}
        wrong = compare_timed(session, job, cell, altered, allowed) or {}
        assert session.columns == loaded
    assert (right.get("correct"), wrong.get("correct")) == (True, False), right


@pytest.mark.parametrize(("backend", "columns"), [("wasm", NO_PEAKS), ("webgpu", {})])
def test_a_page_has_no_peaks_and_a_software_adapter_does_not_even_say_so(
    backend: Backend, columns: Columns, tmp_path: Path
) -> None:
    save_graph(tmp_path, {"forward": layer()})
    job = onnx_job(onnx_cell(backend=backend, runtime="onnxruntime_web"), purpose="verify")
    with closing(open_session(job, 1, tmp_path)) as session:
        assert peak_columns(session, ROOM, FakeClock()) == columns
