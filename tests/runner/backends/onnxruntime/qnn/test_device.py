"""Qualcomm's HTP: here its simulator, which computes as the device does and has no speed."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import onnxruntime
import pytest
from onnx import helper

from runner.backends.onnxruntime.backend import OnnxSession, open_session
from runner.backends.onnxruntime.device import CPU, OnnxDevice
from runner.backends.onnxruntime.evidence import prove
from runner.backends.onnxruntime.qnn.htp import QNN, SIMULATOR, qnn_device, require_possible
from runner.backends.onnxruntime.query import OnnxQuery
from runner.backends.onnxruntime.sessions import (
    NO_FALLBACK,
    OnnxGraph,
    create_session,
    recorded_options,
    session_options,
)
from runner.contract.cell import Purpose
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.graph import Part
from runner.contract.job import Job
from runner.correctness.differences import relative_difference
from runner.inputs import synthesise
from tests.support.onnx_graphs import (
    FLOAT,
    KEY,
    WIDTH,
    layer,
    onnx_cell,
    onnx_job,
    perceptron,
    save_graph,
)
from tests.support.words import raises_words

CELLS = [onnx_cell(rows, backend="qnn", precision="fp16") for rows in (2, 3)]
JOB = onnx_job(*CELLS, purpose="verify")


def with_determinant() -> onnx.ModelProto:
    model = layer(rows=WIDTH, result="hidden")
    model.graph.node.append(helper.make_node("Det", ["hidden"], ["logits"]))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("logits", FLOAT, ()))
    return model


def opened(graphs: Path, job: Job = JOB) -> OnnxSession:
    return open_session(job, 1, graphs)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[OnnxSession]:
    save_graph(tmp_path, {"forward": layer()})
    with closing(opened(tmp_path)) as session:
        yield session


def x(rows: int) -> dict[str, Any]:
    return dict(synthesise(perceptron(), onnx_cell(rows), 0))


@pytest.mark.parametrize("purpose", ["measure", "time"])
def test_a_simulator_is_not_timed(purpose: Purpose, tmp_path: Path) -> None:
    job = JOB.model_copy(update={"purpose": purpose})
    reason = "time says nothing about a device: `orchestrator verify`"
    with raises_words(Unavailable, match=reason):
        opened(tmp_path, job)
    require_possible(job, machine="aarch64")


FULL_SPEED = {"htp_performance_mode": "burst", "rpc_control_latency": "100"}


def htp_of(machine: str) -> OnnxDevice:
    """The device that the plugin gives on such a machine, with a stand-in for its HTP."""
    hardware = SimpleNamespace(vendor="Qualcomm", type=SimpleNamespace(name="NPU"))
    library = SimpleNamespace(
        get_ep_devices=lambda: [SimpleNamespace(ep_name=QNN, device=hardware)]
    )
    return qnn_device(library, machine)


def test_a_real_htp_works_at_full_speed_and_a_simulator_has_none() -> None:
    real, simulator = htp_of("aarch64"), htp_of("x86_64")
    assert (real.name, real.is_simulated) == ("Qualcomm NPU", False)
    assert {name: real.options.get(name) for name in FULL_SPEED} == FULL_SPEED
    assert simulator.is_simulated
    assert not simulator.options.keys() & FULL_SPEED.keys()


def test_every_node_lies_on_the_simulator_and_computes_in_fp16(session: OnnxSession) -> None:
    query = session.bind(CELLS[0], x(2))
    outcome = session.arrays(query())["logits"]
    proof, evidence = session.prove(query)
    assert (proof, session.device_name) == ("proven", SIMULATOR)
    assert (evidence["claimed"], evidence["cpu_fallback"]) == ("qnn", "disabled")
    assert evidence["nodes"] == f"{QNN} 2"
    assert "wall_s" not in evidence
    reference = onnxruntime.InferenceSession(layer().SerializeToString(), providers=[CPU])
    difference = relative_difference(outcome, reference.run(None, x(2))[0])
    assert 1e-5 < difference < 1e-2


def test_nodes_that_the_htp_leaves_to_the_cpu_are_told(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": with_determinant()}, "b8")
    job = onnx_job(onnx_cell(WIDTH, backend="qnn", precision="fp16"), purpose="verify")
    with closing(opened(tmp_path, job)) as session:
        proof, evidence = session.prove(session.bind(job.cells[0], x(WIDTH)))
    assert proof == "partial"
    assert evidence["cpu_fallback"] == "allowed"
    assert evidence["nodes_on_cpu"] == "Det 1"


def test_a_decoding_part_that_was_divided_leaves_generation_unproven(tmp_path: Path) -> None:
    """Its prefill lies on the HTP whole, and no CPU provider was allowed there."""
    parts: dict[Part, Any] = {"prefill": layer(rows=WIDTH), "decode": with_determinant()}
    graph = save_graph(tmp_path, parts, "b8", content="generation")
    device = qnn_device()
    loaded = OnnxGraph(graph, tmp_path / KEY / "b8", device, threads=1)
    model = perceptron().model_copy(update={"encoder_decoder": True})
    proof, evidence = prove(OnnxQuery(loaded, model, x(WIDTH)), device)
    assert proof == "partial"
    assert evidence["cpu_fallback"] == "allowed"
    assert evidence["nodes_on_cpu"] == "Det 1"
    for order in (1, -1):
        sessions = list(loaded.sessions.values())[::order]
        assert recorded_options(sessions, device)[NO_FALLBACK] == "0"
    assert recorded_options([loaded.sessions["prefill"]], device)[NO_FALLBACK] == "1"


def test_the_list_of_providers_gives_the_cpu_and_that_is_contradicted(session: OnnxSession) -> None:
    query = session.bind(CELLS[0], x(2))
    model = layer().SerializeToString()
    silent = onnxruntime.InferenceSession(model, session_options(1), providers=[QNN])
    assert silent.get_providers() == [CPU]
    query.opened.sessions = {"forward": silent}
    proof, evidence = session.prove(query)
    assert proof == "contradicted"
    assert evidence["providers"] == CPU


def test_a_library_that_cannot_be_loaded_leaves_no_session_on_the_cpu() -> None:
    """The session has the provider, which failed, and computes everything on the CPU."""
    broken = replace(qnn_device(), options={"backend_path": "/missing/libQnnHtp.so"})
    model = layer(rows=2).SerializeToString()
    with raises_words(Unsupported, match="takes no node of the graph"):
        create_session(model, broken, lambda fallback: session_options(1, fallback=fallback))
