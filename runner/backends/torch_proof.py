"""Evidence that the claimed device did the work."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import profile

from runner.backends.base import Query
from runner.backends.torch_device import activities
from runner.backends.torch_int8 import quantised_types
from runner.backends.torch_outputs import all_tensors, device_names
from runner.backends.torch_query import TorchQuery
from runner.measure.clock import monotonic, seconds
from runner.record import Proof

SEEN_BY_TENSORS = ("cpu", "mps")
"""Devices whose kernels torch's profiler does not see. What holds the outputs has computed them:
operators that MPS lacks are errors, as `torch_place` lets none fall back to the CPU."""
COPIES = ("Memcpy", "Memset")
HOST_TYPES = ("CPU", "MKLDNN", "IDEEP")
MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Pass:
    """What was seen of one query."""

    outputs: object
    error: str | None
    wall_s: float
    cpu_time_s: float
    kernel_time_s: float | None
    """Time in which the device executed kernels; None where the profiler sees none."""


def prove(
    query: Query, model: torch.nn.Module, device: torch.device
) -> tuple[Proof, dict[str, str]]:
    """Run the query once; say where its tensors lie and whether the device was at work."""
    seen = _watch(query) if device.type in SEEN_BY_TENSORS else _profile(query, device)
    arguments = query.arguments if isinstance(query, TorchQuery) else {}
    places = {
        "parameters": device_names(model.parameters()),
        "buffers": device_names(model.buffers()),
        "inputs": device_names(all_tensors(arguments)),
        "outputs": device_names(all_tensors(seen.outputs)),
    }
    evidence = {
        "claimed": str(device),
        **{name: _joined(types) for name, types in places.items()},
        "parameter_types": _joined(
            {str(p.dtype) for p in model.parameters()} | quantised_types(model)
        ),
        "wall_s": f"{seen.wall_s:.6f}",
        "cpu_time_s": f"{seen.cpu_time_s:.6f}",
    }
    if seen.kernel_time_s is not None:
        evidence["kernel_time_s"] = f"{seen.kernel_time_s:.6f}"
    if seen.error is not None:
        evidence["error"] = seen.error
    return _verdict(str(device), places, seen), evidence


def kernel_time_s(events: Iterable[FunctionEvent]) -> float:
    """Seconds in which a device executed at least one kernel; copies do not count."""
    kernels = sorted(
        (event.time_range.start, event.time_range.end) for event in events if _is_kernel(event)
    )
    busy, reached = 0.0, float("-inf")
    for start, end in kernels:
        busy += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return busy / MICROSECONDS


def _is_kernel(event: FunctionEvent) -> bool:
    on_device = event.device_type.name not in HOST_TYPES
    return on_device and not event.is_user_annotation and not event.name.startswith(COPIES)


def _verdict(claimed: str, places: Mapping[str, set[str]], seen: Pass) -> Proof:
    found = set().union(*places.values())
    if found - {claimed}:
        return "contradicted"
    if not found:
        return "none"
    if seen.error is not None or not places["outputs"]:
        return "partial"
    if seen.kernel_time_s is None or 0 < seen.kernel_time_s <= seen.wall_s:
        return "proven"
    return "partial"


def _watch(query: Query) -> Pass:
    """Run the query once; whatever it raises is evidence."""
    outputs, error = None, None
    cpu_start, start = time.process_time_ns(), monotonic()
    try:
        outputs = query()
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    wall, cpu = monotonic() - start, time.process_time_ns() - cpu_start
    return Pass(outputs, error, seconds(wall), seconds(cpu), kernel_time_s=None)


def _profile(query: Query, device: torch.device) -> Pass:
    """The same under torch's profiler, which sees the device's kernels."""
    with profile(activities=activities(device)) as profiler:
        seen = _watch(query)
    kernels = kernel_time_s(profiler.events() or ())
    return Pass(seen.outputs, seen.error, seen.wall_s, seen.cpu_time_s, kernels)


def _joined(words: set[str]) -> str:
    return "+".join(sorted(words)) or "none"
