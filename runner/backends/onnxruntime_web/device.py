"""Devices of the three backends in a browser, and the evidence which of them took the nodes."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runner.backends.evidence import format_counts
from runner.contract.axes import Backend, Precision
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.host import cpu_model
from runner.contract.job import Job, chosen_device
from runner.contract.reasons import reason
from runner.contract.record.verdict import Proof

SOFTWARE = "software"
"""The choice of the adapter that computes WebGPU on the CPU."""
PROVIDERS: Mapping[Backend, str] = {
    "wasm": "CPUExecutionProvider",
    "webgpu": "WebGpuExecutionProvider",
    "webnn": "WebNNExecutionProvider",
}
"""The execution provider of each backend, as the runtime's log names it."""
_CPU_PROVIDER = PROVIDERS["wasm"]
_PLACED = re.compile(r"(?:Node\(s\)|All nodes) placed on \[(\w+)\]\. Number of nodes: (\d+)")
_NODE = re.compile(r"VerifyEachNodeIsAssignedToAnEp\]\s+(\w+) \(")
_SHAPE_OPERATORS = frozenset(
    {
        *("Shape", "Size", "Gather", "GatherND", "Slice", "Concat", "Unsqueeze", "Squeeze"),
        *("Reshape", "Expand", "Range", "ConstantOfShape", "Cast", "Where", "Tile", "Identity"),
        *("And", "Or", "Not", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"),
        *("Add", "Sub", "Mul", "Div", "Mod", "CumSum", "Trilu", "ScatterND", "NonZero"),
    }
)
"""Operators on shapes, indices and masks, which WebGPU leaves to the CPU by design."""


@dataclass(frozen=True)
class WebDevice:
    """The device behind a page."""

    name: str
    is_software: bool = False
    """True for an adapter that computes on the CPU: its times say nothing of WebGPU's speed."""


def wants_software(job: Job) -> bool:
    """True if WebGPU shall be computed on the CPU, whatever else there is."""
    backend = job.cells[0].backend
    return backend == "webgpu" and chosen_device(backend) == SOFTWARE


def takes_software(job: Job) -> bool:
    """True if it may be: where that is asked for, and to verify."""
    return wants_software(job) or job.purpose == "verify"


def web_device(backend: Backend, facts: Mapping[str, Any], *, software: bool) -> WebDevice:
    if backend == "webnn" and (error := facts["context"].get("error")):
        raise Unavailable(reason("no_webnn", error=error))
    if backend != "webgpu":
        return WebDevice(cpu_model())
    adapter = facts.get("adapter")
    if adapter is None:
        raise Unavailable(reason("no_webgpu_adapter"))
    if not adapter["isFallbackAdapter"]:
        words = (adapter[name] for name in ("vendor", "architecture", "device", "description"))
        return WebDevice(" ".join(filter(None, words)))
    if not software:
        raise Unavailable(reason("software_adapter_untimed"))
    return WebDevice(f"SwiftShader (software) on {cpu_model()}", is_software=True)


def require_precision(precision: Precision, facts: Mapping[str, Any]) -> None:
    adapter = facts.get("adapter")
    if precision == "fp16" and adapter and not adapter["half"]:
        raise Unsupported(reason("webgpu_no_f16"))


class NodePlacement:
    """The nodes of sessions, as the log of their creation tells them."""

    def __init__(self, log: Iterable[str]) -> None:
        self.nodes: Counter[str] = Counter()
        self.on_cpu: Counter[str] = Counter()
        """The operators that the CPU takes, with their numbers."""
        provider = None
        for line in "\n".join(log).splitlines():
            if placed := _PLACED.search(line):
                provider = placed[1]
                self.nodes[provider] += int(placed[2])
            elif (node := _NODE.search(line)) and provider == _CPU_PROVIDER:
                self.on_cpu[node[1]] += 1

    def proof(self, backend: Backend) -> Proof:
        claimed = PROVIDERS[backend]
        if not self.nodes:
            return "partial"
        if self.nodes.keys() - {claimed, _CPU_PROVIDER} or not self.nodes[claimed]:
            return "contradicted"
        if claimed == _CPU_PROVIDER or not self.nodes[_CPU_PROVIDER]:
            return "proven"
        only_shapes = self.on_cpu and self.on_cpu.keys() <= _SHAPE_OPERATORS
        return "proven" if only_shapes else "partial"

    def evidence(self) -> dict[str, str]:
        words = {"nodes": format_counts(self.nodes)}
        if self.on_cpu:
            words["nodes_on_cpu"] = format_counts(self.on_cpu)
        return words
