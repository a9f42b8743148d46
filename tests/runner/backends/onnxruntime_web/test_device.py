"""Devices in a browser, from what a page tells of them, and evidence from its runtime's log."""

from typing import Any

import pytest

from runner.backends.onnxruntime_web.device import (
    NodePlacement,
    require_precision,
    takes_software,
    wants_software,
    web_device,
)
from runner.contract.axes import Backend
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.job import DEVICE_VARIABLE
from runner.contract.record.verdict import Proof
from runner.measure.environment import read_environment
from tests.support.jobs import a_job, fake_cell
from tests.support.words import raises_words

CPU = read_environment().cpu_model
GPU = {
    "vendor": "nvidia",
    "architecture": "hopper",
    "device": "",
    "description": "H200",
    "isFallbackAdapter": False,
    "half": True,
}
SOFTWARE = {**GPU, "vendor": "google", "architecture": "swiftshader", "isFallbackAdapter": True}


@pytest.mark.parametrize(
    ("backend", "facts", "software", "name", "is_software"),
    [
        ("wasm", {}, False, CPU, False),
        ("webnn", {"context": {"deviceType": "cpu"}}, False, CPU, False),
        ("webgpu", {"adapter": GPU}, False, "nvidia hopper H200", False),
        ("webgpu", {"adapter": SOFTWARE}, True, f"SwiftShader (software) on {CPU}", True),
    ],
)
def test_a_device_has_the_name_of_what_computes(
    backend: Backend, facts: dict[str, Any], software: bool, name: str, is_software: bool
) -> None:
    device = web_device(backend, facts, software=software)
    assert (device.name, device.is_software) == (name, is_software)


@pytest.mark.parametrize(
    ("backend", "facts", "message"),
    [
        ("webgpu", {"adapter": None}, "gives no WebGPU adapter"),
        ("webgpu", {"adapter": SOFTWARE}, "software adapter's time says nothing about a device"),
        ("webnn", {"context": {"error": "navigator.ml is missing"}}, "no WebNN: navigator.ml"),
    ],
)
def test_without_a_device_there_is_nothing_to_measure(
    backend: Backend, facts: dict[str, Any], message: str
) -> None:
    with raises_words(Unavailable, match=message):
        web_device(backend, facts, software=False)


@pytest.mark.parametrize(
    ("backend", "purpose", "chosen", "taken", "wanted"),
    [
        ("webgpu", "measure", "", False, False),
        ("webgpu", "time", "webgpu=GPU", False, False),
        ("webgpu", "measure", "webgpu=software", True, True),
        ("webgpu", "verify", "", True, False),
        ("wasm", "measure", "software", False, False),
    ],
)
def test_a_software_adapter_is_timed_only_if_it_is_asked_for(
    backend: Backend,
    purpose: Any,
    chosen: str,
    taken: bool,
    wanted: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(DEVICE_VARIABLE, chosen)
    cell = fake_cell(backend=backend, runtime="onnxruntime_web")
    job = a_job([cell]).model_copy(update={"purpose": purpose})
    assert (takes_software(job), wants_software(job)) == (taken, wanted)


def test_fp16_takes_an_adapter_that_has_it() -> None:
    require_precision("fp16", {"adapter": GPU})
    require_precision("fp32", {"adapter": {**GPU, "half": False}})
    with raises_words(Unsupported, match="lacks the feature shader-f16"):
        require_precision("fp16", {"adapter": {**GPU, "half": False}})


PREFIX = "2026-11-23 [V:onnxruntime:, session_state.cc:1380 VerifyEachNodeIsAssignedToAnEp]"
OTHER = "2026-11-23 [I:onnxruntime:, graph.cc:5610 Clean] Removing initializer 'w'."
WASM, WEBGPU, WEBNN = "CPUExecutionProvider", "WebGpuExecutionProvider", "WebNNExecutionProvider"


def every(provider: str, nodes: int) -> list[str]:
    return [OTHER, f"{PREFIX}  All nodes placed on [{provider}]. Number of nodes: {nodes}"]


def some(provider: str, *operators: str) -> list[str]:
    head = f"{PREFIX}  Node(s) placed on [{provider}]. Number of nodes: {len(operators)}"
    return [head, *(f"{PREFIX}   {operator} (node_{operator})" for operator in operators)]


@pytest.mark.parametrize(
    ("backend", "log", "proof", "nodes"),
    [
        ("wasm", every(WASM, 12), "proven", f"{WASM} 12"),
        ("webnn", every(WEBNN, 1), "proven", f"{WEBNN} 1"),
        ("webnn", every(WASM, 12), "contradicted", f"{WASM} 12"),
        ("webgpu", every(WASM, 12), "contradicted", f"{WASM} 12"),
        ("wasm", every(WEBGPU, 3), "contradicted", f"{WEBGPU} 3"),
        ("webnn", [OTHER], "partial", "none"),
        (
            "webgpu",
            some(WEBGPU, "MatMul", "Add") + some(WASM, "Cast", "GatherND", "And"),
            "proven",
            f"{WASM} 3, {WEBGPU} 2",
        ),
        (
            "webgpu",
            some(WASM, "Cast", "MatMul") + some(WEBGPU, "Add"),
            "partial",
            f"{WASM} 2, {WEBGPU} 1",
        ),
    ],
)
def test_nodes_decide_about_the_proof(
    backend: Backend, log: list[str], proof: Proof, nodes: str
) -> None:
    placement = NodePlacement(log)
    assert placement.proof(backend) == proof
    assert placement.evidence()["nodes"] == nodes
