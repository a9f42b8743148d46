"""Evidence that the claimed device did the work."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import profile

from runner.backends.base import Query
from runner.backends.evidence import Watched, joined, watch
from runner.backends.torch.device import activities
from runner.backends.torch.forward import TorchQuery, all_tensors, device_names
from runner.backends.torch.int8 import quantised_types
from runner.contract.files import save_file, save_text
from runner.contract.record import Proof

SEEN_BY_TENSORS = ("cpu", "mps")
"""Devices whose kernels torch's profiler does not see. What holds the outputs has computed them:
operators that MPS lacks are errors, as `torch_place` lets none fall back to the CPU."""
COPIES = ("Memcpy", "Memset")
HOST_TYPES = ("CPU", "MKLDNN", "IDEEP")
MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Pass(Watched[object]):
    """What was seen of one query."""

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
        **{name: joined(types) for name, types in places.items()},
        "parameter_types": joined(
            {str(p.dtype) for p in model.parameters()} | quantised_types(model)
        ),
        **seen.times,
        **seen.failure,
    }
    if seen.kernel_time_s is not None:
        evidence["kernel_time_s"] = f"{seen.kernel_time_s:.6f}"
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
    """Run the query once."""
    return Pass(**vars(watch(query)), kernel_time_s=None)


def _profile(query: Query, device: torch.device) -> Pass:
    """The same under torch's profiler, which sees the device's kernels."""
    with profile(activities=activities(device)) as profiler:
        seen = _watch(query)
    kernels = kernel_time_s(profiler.events() or ())
    return replace(seen, kernel_time_s=kernels)


HEAVIEST = 30
NAME_WIDTH = 60


def trace(action: Query, stem: Path, device: torch.device) -> None:
    """Profile one call; write its trace and a table of the heaviest operators.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    with profile(activities=activities(device), record_shapes=True) as profiler:
        action()
    table = profiler.key_averages().table(
        sort_by="self_cpu_time_total" if device.type == "cpu" else "self_device_time_total",
        row_limit=HEAVIEST,
        max_name_column_width=NAME_WIDTH,
    )
    save_file(
        stem.with_name(f"{stem.name}.trace.json"),
        lambda file: profiler.export_chrome_trace(file.name),
    )
    save_text(stem.with_name(f"{stem.name}.operators.txt"), table)
