"""Proof that a device did the work, and traces."""

from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import openvino as ov
import pytest

from runner.backends.evidence import Kernels, UnseenKernels
from runner.backends.openvino.backend import OpenVINOSession, open_session
from runner.backends.openvino.device import (
    Compiler,
    OpenVINODevice,
    find_openvino_device,
    identity_model,
)
from runner.backends.openvino.evidence import judge_devices, openvino_kernels, prove
from runner.backends.openvino.query import GraphQuery, PartRequest, Slot, to_slot
from runner.inputs import synthesise
from tests.support.onnx_graphs import layer, perceptron, save_graph
from tests.support.openvino_models import FakeCompiled, doubling, openvino_cell, openvino_job

CELL = openvino_cell(2)
CPU = OpenVINODevice("CPU", "Some CPU", None, ("CPU",))


@pytest.fixture
def session(tmp_path: Path) -> Iterator[OpenVINOSession]:
    save_graph(tmp_path, {"forward": layer()})
    with closing(open_session(openvino_job(CELL), 1, tmp_path)) as session:
        yield session


@pytest.fixture
def query(session: OpenVINOSession) -> GraphQuery:
    return session.bind(CELL, synthesise(perceptron(), CELL, 0))


class CompiledElsewhere(FakeCompiled):
    def __init__(self, *devices: str) -> None:
        super().__init__(EXECUTION_DEVICES=list(devices), INFERENCE_PRECISION_HINT=ov.Type.f32)

    def get_runtime_model(self) -> ov.Model:
        return ov.Core().compile_model(identity_model(), "CPU").get_runtime_model()


def test_the_facts_behind_a_proof(session: OpenVINOSession, query: GraphQuery) -> None:
    proof, evidence = session.prove(query)
    times = [float(evidence.pop(name)) for name in ("wall_s", "cpu_time_s")]
    assert proof == "proven"
    assert min(times) >= 0
    assert evidence.pop("available_devices")
    assert evidence.pop("device_full_name") == session.device_name
    assert evidence.pop("operators").startswith("f32 ")
    assert evidence == {
        "claimed": "CPU",
        "execution_devices": "CPU",
        "inference_precision": "f32",
        "products": "fp32 1",
        "outputs": "1",
    }
    assert session.products == {"fp32": 1}


def test_a_claim_of_another_device_than_openvino_took_is_contradicted(query: GraphQuery) -> None:
    proof, evidence = prove(query, replace(CPU, name="GPU", available=("CPU", "GPU")))
    assert proof == "contradicted"
    assert (evidence["claimed"], evidence["execution_devices"]) == ("GPU", "CPU")


@pytest.mark.parametrize(
    ("devices", "proof"),
    [
        (["GPU.0"], "proven"),
        (["(GPU)"], "proven"),
        (["(CPU)"], "contradicted"),
        (["CPU"], "contradicted"),
        (["GPU.1"], "contradicted"),
        (["GPU.0", "CPU"], "contradicted"),
        ([], "none"),
    ],
)
def test_all_that_executes_must_be_what_is_claimed(devices: list[str], proof: str) -> None:
    assert judge_devices("GPU", devices, outputs=1, failed=False) == proof
    if proof == "proven":
        assert judge_devices("GPU", devices, outputs=0, failed=False) == "partial"
        assert judge_devices("GPU", devices, outputs=1, failed=True) == "partial"


def test_one_part_elsewhere_is_enough_though_the_query_does_not_execute_it(
    query: GraphQuery,
) -> None:
    idle = GraphQuery(query.requests, query(), [CompiledElsewhere("GPU")])  # type: ignore[list-item]
    proof, evidence = prove(idle, CPU)
    assert (proof, evidence["execution_devices"]) == ("contradicted", "CPU+GPU")
    query.requests[0].compiled = CompiledElsewhere("GPU")
    proof, evidence = prove(query, CPU)
    assert (proof, evidence["execution_devices"]) == ("contradicted", "GPU")


def test_a_query_that_fails_proves_little_and_says_why() -> None:
    core = ov.Core()
    step = PartRequest(doubling(), core.compile_model(doubling(), "CPU"))
    step.read({"x": Slot(lambda: ov.Tensor(ov.Type.f32, [1, 3]), ov.PartialShape([-1, 2]), True)})
    proof, evidence = prove(
        GraphQuery([step], step.outputs(["y"])), find_openvino_device(core, "CPU")
    )
    assert proof == "partial"
    assert evidence["error"].startswith("RuntimeError: ")
    assert evidence["outputs"] == "0"


def test_an_accelerators_kernels_decide_and_the_cpus_are_not_looked_for(query: GraphQuery) -> None:
    query.requests[0].compiled = CompiledElsewhere("GPU.0")
    gpu = replace(CPU, name="GPU")
    shares = {}
    for share in (0.1, 0.5):
        proof, evidence = prove(query, gpu, partial(Kernels, share, 1.0))
        shares[evidence["kernel_share"]] = proof
    assert shares == {"0.100": "partial", "0.500": "proven"}
    proof, evidence = prove(query, gpu, partial(UnseenKernels, "no profile"))
    assert (proof, evidence["kernel_share_missing"]) == ("proven", "no profile")
    assert prove(query, CPU, partial(Kernels, 1.0, 1.0))[0] == "contradicted"
    query.requests[0].compiled = CompiledElsewhere("CPU")
    assert "kernel_share" not in prove(query, CPU, Mock(side_effect=AssertionError))[1]


def test_a_share_of_the_iteration_of_a_real_graph() -> None:
    """The CPU stands for an accelerator; two requests of one model are compiled once."""
    core = ov.Core()
    compiler = Compiler(core, find_openvino_device(core, "CPU"), "fp32", threads=1)
    model, compiled = doubling(), []
    parts = [PartRequest(model, compiler.compile(model)) for _ in range(2)]
    for part in parts:
        part.read({"x": to_slot(np.ones((500_000, 2), dtype=np.float32))})
    usual, observed = [part.request for part in parts], []
    remake = Mock(compile=lambda *a, **k: compiled.append(k) or compiler.compile(*a, **k))

    def action() -> None:
        observed.append(parts[1].request)
        for part in parts:
            part()

    kernels = openvino_kernels(lambda: nullcontext(action), lambda: parts, remake)
    assert isinstance(kernels, Kernels)
    assert kernels.error is None
    assert 0 < kernels.share <= 1
    assert compiled == [{"PERF_COUNT": True}]
    assert [request is usual[1] for request in observed] == [True, True, False, False]
    assert [part.request for part in parts] == usual
