"""Evidence from the log of ONNX Runtime Web: which provider took which nodes."""

import pytest

from runner.backends.onnxruntime_web.device import NodePlacement
from runner.contract.axes import Backend
from runner.contract.record.verdict import Proof

PREFIX = "2026-11-23 [V:onnxruntime:, session_state.cc:1380 VerifyEachNodeIsAssignedToAnEp]"
OTHER = "2026-11-23 [I:onnxruntime:, graph.cc:5610 Clean] Removing initializer 'w'."
WASM, GPU, NN = "CPUExecutionProvider", "WebGpuExecutionProvider", "WebNNExecutionProvider"


def every(provider: str, nodes: int) -> list[str]:
    return [OTHER, f"{PREFIX}  All nodes placed on [{provider}]. Number of nodes: {nodes}"]


def some(provider: str, *operators: str) -> list[str]:
    head = f"{PREFIX}  Node(s) placed on [{provider}]. Number of nodes: {len(operators)}"
    return [head, *(f"{PREFIX}   {operator} (node_{operator})" for operator in operators)]


@pytest.mark.parametrize(
    ("backend", "log", "proof", "nodes"),
    [
        ("wasm", every(WASM, 12), "proven", f"{WASM} 12"),
        ("webnn", every(NN, 1), "proven", f"{NN} 1"),
        ("webnn", every(WASM, 12), "contradicted", f"{WASM} 12"),
        ("webgpu", every(WASM, 12), "contradicted", f"{WASM} 12"),
        ("wasm", every(GPU, 3), "contradicted", f"{GPU} 3"),
        ("webnn", [OTHER], "partial", "none"),
        (
            "webgpu",
            some(GPU, "MatMul", "Add") + some(WASM, "Cast", "GatherND", "And"),
            "proven",
            f"{WASM} 3, {GPU} 2",
        ),
        (
            "webgpu",
            some(WASM, "Cast", "MatMul") + some(GPU, "Add"),
            "partial",
            f"{WASM} 2, {GPU} 1",
        ),
    ],
)
def test_nodes_decide_about_the_proof(
    backend: Backend, log: list[str], proof: Proof, nodes: str
) -> None:
    placement = NodePlacement(log)
    assert placement.proof(backend) == proof
    assert placement.evidence()["nodes"] == nodes
