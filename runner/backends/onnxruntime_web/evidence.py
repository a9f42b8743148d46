"""Evidence that a provider did the work: the nodes that it took, from the runtime's own log."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from runner.contract.axes import Backend
from runner.contract.record.verdict import Proof

PROVIDERS: Mapping[Backend, str] = {
    "wasm": "CPUExecutionProvider",
    "webgpu": "WebGpuExecutionProvider",
    "webnn": "WebNNExecutionProvider",
}
"""The execution provider of each backend, as the runtime's log names it."""
CPU_PROVIDER = PROVIDERS["wasm"]
_PLACED = re.compile(r"(?:Node\(s\)|All nodes) placed on \[(\w+)\]\. Number of nodes: (\d+)")
_NODE = re.compile(r"VerifyEachNodeIsAssignedToAnEp\]\s+(\w+) \(")
SHAPE_OPERATORS = frozenset(
    {
        *("Shape", "Size", "Gather", "GatherND", "Slice", "Concat", "Unsqueeze", "Squeeze"),
        *("Reshape", "Expand", "Range", "ConstantOfShape", "Cast", "Where", "Tile", "Identity"),
        *("And", "Or", "Not", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"),
        *("Add", "Sub", "Mul", "Div", "Mod", "CumSum", "Trilu", "ScatterND", "NonZero"),
    }
)
"""Operators on shapes, indices and masks, which WebGPU leaves to the CPU_PROVIDER by design."""


class NodePlacement:
    """The nodes of sessions, as the log of their creation tells them."""

    def __init__(self, log: Iterable[str]) -> None:
        self.nodes: Counter[str] = Counter()
        """The number of nodes by provider."""
        self.on_cpu: Counter[str] = Counter()
        """The operators that the CPU_PROVIDER takes, with their numbers."""
        provider = None
        for line in "\n".join(log).splitlines():
            if placed := _PLACED.search(line):
                provider = placed[1]
                self.nodes[provider] += int(placed[2])
            elif (node := _NODE.search(line)) and provider == CPU_PROVIDER:
                self.on_cpu[node[1]] += 1

    def proof(self, backend: Backend) -> Proof:
        """The proof that the nodes give."""
        claimed = PROVIDERS[backend]
        if not self.nodes:
            return "partial"
        if self.nodes.keys() - {claimed, CPU_PROVIDER} or not self.nodes[claimed]:
            return "contradicted"
        if claimed == CPU_PROVIDER or not self.nodes[CPU_PROVIDER]:
            return "proven"
        only_shapes = self.on_cpu and self.on_cpu.keys() <= SHAPE_OPERATORS
        return "proven" if only_shapes else "partial"

    def evidence(self) -> dict[str, str]:
        """The nodes, in words."""
        words = {"nodes": _counted(self.nodes)}
        if self.on_cpu:
            words["nodes_on_cpu"] = _counted(self.on_cpu)
        return words


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"
