"""What counts as proof that a device did the work."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import openvino as ov
import pytest

from runner.backends.openvino import OpenVINOSession, open_session
from runner.backends.openvino_device import Device, find_device, nothing
from runner.backends.openvino_proof import execution_devices, prove, verdict
from runner.backends.openvino_query import GraphQuery
from runner.backends.openvino_step import Place, Step
from runner.inputs import synthesise
from tests.onnx_graphs import layer, perceptron, save_graph
from tests.openvino_models import doubling, openvino_cell, openvino_job

CELL = openvino_cell(2)
CPU = Device("CPU", "Some CPU", None, ("CPU",))


@pytest.fixture
def session(tmp_path: Path) -> Iterator[OpenVINOSession]:
    save_graph(tmp_path, {"forward": layer()})
    with closing(open_session(openvino_job(CELL), 1, tmp_path)) as session:
        yield session


@pytest.fixture
def query(session: OpenVINOSession) -> GraphQuery:
    return session.bind(CELL, synthesise(perceptron(), CELL, 0))


class FakeCompiled:
    """A compiled model that says where it executes."""

    def __init__(self, *devices: str) -> None:
        self._devices = list(devices)

    def get_property(self, name: str) -> object:
        return {"EXECUTION_DEVICES": self._devices, "INFERENCE_PRECISION_HINT": ov.Type.f32}[name]

    def get_runtime_model(self) -> ov.Model:
        return ov.Core().compile_model(nothing(), "CPU").get_runtime_model()


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
        "outputs": "1",
    }


def test_a_claim_of_another_device_than_openvino_took_is_contradicted(query: GraphQuery) -> None:
    proof, evidence = prove(query, replace(CPU, name="GPU", available=("CPU", "GPU")))
    assert proof == "contradicted"
    assert (evidence["claimed"], evidence["execution_devices"]) == ("GPU", "CPU")


def test_auto_that_fell_to_the_cpu_contradicts_a_gpu() -> None:
    compiled = ov.Core().compile_model(doubling(), "AUTO", {"INFERENCE_NUM_THREADS": 1})
    executed = execution_devices(compiled)
    assert executed
    assert verdict("NPU.5", executed, outputs=1, failed=False) == "contradicted"
    assert verdict(executed[0], executed, outputs=1, failed=False) == "proven"


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
    compiled = FakeCompiled(*devices)
    assert verdict("GPU", execution_devices(compiled), outputs=1, failed=False) == proof


def test_one_part_elsewhere_is_enough(query: GraphQuery) -> None:
    query.steps[0].compiled = FakeCompiled("GPU")
    proof, evidence = prove(query, CPU)
    assert proof == "contradicted"
    assert evidence["execution_devices"] == "GPU"


def test_a_part_that_the_query_does_not_execute_counts(query: GraphQuery) -> None:
    idle = GraphQuery(query.steps, query(), [FakeCompiled("GPU")])  # type: ignore[list-item]
    proof, evidence = prove(idle, CPU)
    assert proof == "contradicted"
    assert evidence["execution_devices"] == "CPU+GPU"


def test_a_device_alone_proves_little_without_outputs() -> None:
    assert verdict("CPU", ["CPU"], outputs=0, failed=False) == "partial"
    assert verdict("CPU", ["CPU"], outputs=1, failed=True) == "partial"


def test_a_query_that_fails_proves_little_and_says_why() -> None:
    core = ov.Core()
    step = Step(doubling(), core.compile_model(doubling(), "CPU"))
    step.read({"x": Place(ov.PartialShape([-1, 2]), lambda: ov.Tensor(ov.Type.f32, [1, 3]))})
    proof, evidence = prove(GraphQuery([step], step.outputs(["y"])), find_device(core, "CPU"))
    assert proof == "partial"
    assert evidence["error"].startswith("RuntimeError: ")
    assert evidence["outputs"] == "0"


def test_what_is_no_query_of_ours_proves_nothing() -> None:
    assert prove(lambda: None, CPU) == ("none", {"claimed": "CPU"})
