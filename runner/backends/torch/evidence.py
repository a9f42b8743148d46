"""Evidence that the claimed device did the work."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import profile

from runner.backends.base import Query
from runner.backends.evidence import Observation, join_distinct, observe
from runner.backends.torch.device import activities
from runner.backends.torch.forward import TorchQuery, all_tensors, device_names
from runner.backends.torch.int8 import quantised_types
from runner.contract.files import save_file, save_text
from runner.contract.record import Proof

_SEEN_BY_TENSORS = ("cpu", "mps")
"""Devices whose kernels torch's profiler does not see. The device that holds the outputs has
computed them: operators that MPS lacks are errors, as `device` lets none fall back to the CPU."""
_COPIES = ("Memcpy", "Memset")
_HOST_TYPES = ("CPU", "MKLDNN", "IDEEP")
_MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Pass(Observation[object]):
    """The outcome of one query."""

    kernel_time_s: float | None
    """Time in which the device executed kernels; None where the profiler sees none."""


def prove(
    query: Query, model: torch.nn.Module, device: torch.device
) -> tuple[Proof, dict[str, str]]:
    """Run the query once; report the devices of its tensors and the time of its kernels."""
    outcome = _observe(query) if device.type in _SEEN_BY_TENSORS else _profile(query, device)
    arguments = query.arguments if isinstance(query, TorchQuery) else {}
    devices = {
        "parameters": device_names(model.parameters()),
        "buffers": device_names(model.buffers()),
        "inputs": device_names(all_tensors(arguments)),
        "outputs": device_names(all_tensors(outcome.outputs)),
    }
    evidence = {
        "claimed": str(device),
        **{name: join_distinct(names) for name, names in devices.items()},
        "parameter_types": join_distinct(
            {str(p.dtype) for p in model.parameters()} | quantised_types(model)
        ),
        **outcome.times,
        **outcome.failure,
    }
    if outcome.kernel_time_s is not None:
        evidence["kernel_time_s"] = f"{outcome.kernel_time_s:.6f}"
    return judge_tensors(str(device), devices, outcome), evidence


def kernel_time_s(events: Iterable[FunctionEvent]) -> float:
    """Seconds in which a device executed at least one kernel; copies do not count."""
    kernels = sorted(
        (event.time_range.start, event.time_range.end) for event in events if _is_kernel(event)
    )
    busy, reached = 0.0, float("-inf")
    for start, end in kernels:
        busy += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return busy / _MICROSECONDS


def _is_kernel(event: FunctionEvent) -> bool:
    on_device = event.device_type.name not in _HOST_TYPES
    return on_device and not event.is_user_annotation and not event.name.startswith(_COPIES)


def judge_tensors(claimed: str, devices: Mapping[str, set[str]], outcome: Pass) -> Proof:
    """The proof that the devices of tensors and the time of kernels give."""
    used = set().union(*devices.values())
    if used - {claimed}:
        return "contradicted"
    if not used:
        return "none"
    if outcome.error is not None or not devices["outputs"]:
        return "partial"
    if outcome.kernel_time_s is None or 0 < outcome.kernel_time_s <= outcome.wall_s:
        return "proven"
    return "partial"


def _observe(query: Query) -> Pass:
    """Run the query once."""
    return Pass(**vars(observe(query)), kernel_time_s=None)


def _profile(query: Query, device: torch.device) -> Pass:
    """Run the query once under torch's profiler, which sees the device's kernels."""
    with profile(activities=activities(device)) as profiler:
        outcome = _observe(query)
    kernels = kernel_time_s(profiler.events() or ())
    return replace(outcome, kernel_time_s=kernels)


_HEAVIEST = 30
_NAME_WIDTH = 60


def trace(action: Query, stem: Path, device: torch.device) -> None:
    """Profile one call; write its trace and a table of the heaviest operators.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    with profile(activities=activities(device), record_shapes=True) as profiler:
        action()
    table = profiler.key_averages().table(
        sort_by="self_cpu_time_total" if device.type == "cpu" else "self_device_time_total",
        row_limit=_HEAVIEST,
        max_name_column_width=_NAME_WIDTH,
    )
    save_file(
        stem.with_name(f"{stem.name}.trace.json"),
        lambda file: profiler.export_chrome_trace(file.name),
    )
    save_text(stem.with_name(f"{stem.name}.operators.txt"), table)
