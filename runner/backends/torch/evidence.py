"""Evidence that the claimed device did the work, and in which types of numbers."""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import profile
from torch.utils._python_dispatch import TorchDispatchMode

from runner.backends.base import Iteration, Query
from runner.backends.evidence import (
    COPIES,
    Kernels,
    Observation,
    busy_time,
    format_counts,
    join_distinct,
    narrowest,
    observe,
)
from runner.backends.torch.device import activities
from runner.backends.torch.int8 import quantised_types
from runner.backends.torch.query import TorchQuery, all_tensors, device_names
from runner.contract.files import save_file, save_text
from runner.contract.record.verdict import Proof

_SEEN_BY_TENSORS = ("cpu", "mps")
"""Devices whose kernels torch's profiler does not see. The device that holds the outputs has
computed them: operators that MPS lacks are errors, as `device` lets none fall back to the CPU."""
_HOST_TYPES = ("CPU", "MKLDNN", "IDEEP")
_MICROSECONDS = 1_000_000
_PRODUCTS = frozenset(
    {"mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "einsum", "_grouped_mm", "_scaled_mm"}
    | {"_int_mm", "linear_dynamic", "convolution", "conv1d", "conv2d", "conv3d"}
)
"""Operators that multiply matrices, beside those of attention."""
_ATTENTION = "scaled_dot_product"
_PACKED = "quantized"  # the namespace of operators whose weights are packed int8


class ProductTypes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the products within its context by the type of their narrower operand."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        name = getattr(func, "overloadpacket", func).__name__
        if name in _PRODUCTS or _ATTENTION in name:
            operands = [str(tensor.dtype) for tensor in all_tensors(args)[:2]]
            packed = ["int8"] if func.namespace == _PACKED else []
            self.counts.update(narrowest(operands + packed))
        return func(*args, **(kwargs or {}))


def prove(
    query: Query,
    model: torch.nn.Module,
    device: torch.device,
    iteration: Iteration | None = None,
    products: ProductTypes | None = None,
) -> tuple[Proof, dict[str, str]]:
    """Run the query once, in the context of `products`, and the iteration for its kernels."""
    with products or nullcontext():
        outcome = observe(query)
    arguments = query.arguments if isinstance(query, TorchQuery) else {}
    devices = {
        "parameters": device_names(model.parameters()),
        "buffers": device_names(model.buffers()),
        "inputs": device_names(all_tensors(arguments)),
        "outputs": device_names(all_tensors(outcome.outputs)),
    }
    types = {str(parameter.dtype) for parameter in model.parameters()} | quantised_types(model)
    buffers = {str(buffer.dtype) for buffer in model.buffers() if buffer.is_floating_point()}
    evidence = {
        "claimed": str(device),
        **{name: join_distinct(names) for name, names in devices.items()},
        "parameter_types": join_distinct(types),
        "buffer_types": join_distinct(buffers),
        **({} if products is None else {"products": format_counts(products.counts)}),
        **outcome.times,
        **outcome.failure,
    }
    if device.type in _SEEN_BY_TENSORS:
        return judge_tensors(str(device), devices, outcome, None), evidence
    kernels = _kernels(iteration or (lambda: nullcontext(query)), device)
    return judge_tensors(str(device), devices, outcome, kernels), {**evidence, **kernels.evidence}


def judge_tensors(
    claimed: str,
    devices: Mapping[str, set[str]],
    outcome: Observation[object],
    kernels: Kernels | None,
) -> Proof:
    used = set().union(*devices.values())
    if used - {claimed}:
        return "contradicted"
    if not used:
        return "none"
    if outcome.error is not None or not devices["outputs"]:
        return "partial"
    return "proven" if kernels is None or kernels.suffice else "partial"


def kernel_time_s(events: Iterable[FunctionEvent]) -> float:
    """Seconds in which a device executed at least one kernel; copies do not count."""
    return _busy_s(event for event in events if _is_kernel(event))


def launch_time_s(events: Iterable[FunctionEvent]) -> float:
    """Seconds in which a device executed a kernel, or an operator of the host launched one."""
    return _busy_s(
        event
        for event in events
        if _is_kernel(event) or any(not k.name.startswith(COPIES) for k in event.kernels)
    )


def _busy_s(events: Iterable[FunctionEvent]) -> float:
    spans = ((event.time_range.start, event.time_range.end) for event in events)
    return busy_time(spans) / _MICROSECONDS


def _is_kernel(event: FunctionEvent) -> bool:
    on_device = event.device_type.name not in _HOST_TYPES
    return on_device and not event.is_user_annotation and not event.name.startswith(COPIES)


def _kernels(iteration: Iteration, device: torch.device) -> Kernels:
    """Run the iteration three times: a first time, timed, and under torch's profiler."""
    with iteration() as action:
        observe(action)
        usual = observe(action)
        with profile(activities=activities(device)) as profiler:
            profiled = observe(action)
    events = profiler.events() or ()
    launch_share = launch_time_s(events) / profiled.wall_s if profiled.wall_s else None
    return Kernels(kernel_time_s(events), usual.wall_s, usual.error or profiled.error, launch_share)


def trace(action: Query, stem: Path, device: torch.device) -> None:
    with profile(activities=activities(device), record_shapes=True) as profiler:
        action()
    table = profiler.key_averages().table(
        sort_by="self_cpu_time_total" if device.type == "cpu" else "self_device_time_total",
        row_limit=30,
        max_name_column_width=60,
    )
    save_file(
        stem.with_name(f"{stem.name}.trace.json"),
        lambda file: profiler.export_chrome_trace(file.name),
    )
    save_text(stem.with_name(f"{stem.name}.operators.txt"), table)
