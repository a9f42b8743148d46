"""Evidence that the claimed device did the work."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from runner.backends.base import Query
from runner.backends.openvino_compile import precision_of
from runner.backends.openvino_device import Device, plain
from runner.backends.openvino_operators import kinds_and_types
from runner.backends.openvino_query import GraphQuery, on_host
from runner.backends.watched import joined, watch
from runner.record import Proof


def prove(query: Query, device: Device) -> tuple[Proof, dict[str, str]]:
    """Run the query once; say which devices its graph's parts execute on, and in what numbers."""
    if not isinstance(query, GraphQuery):
        return "none", {"claimed": device.name}
    seen = watch(lambda: on_host(query()))
    outputs = len(seen.outputs or ())
    parts = query.compiled
    executed = {name for part in parts for name in execution_devices(part)}
    evidence = {
        "claimed": device.name,
        "execution_devices": joined(executed),
        "device_full_name": device.full_name,
        "available_devices": ", ".join(device.available),
        "inference_precision": joined(precision_of(part) for part in parts),
        "operators": _operators(parts),
        "outputs": str(outputs),
        **seen.times,
        **seen.failure,
    }
    if device.asked is not None:
        evidence["asked"] = device.asked
    return verdict(device.name, executed, outputs, seen.error is not None), evidence


def verdict(claimed: str, executed: Iterable[str], outputs: int, failed: bool) -> Proof:
    """What the facts amount to.

    Args:
        claimed: the device that the numbers are ascribed to.
        executed: the devices that OpenVINO says it executes on.
        outputs: how many arrays the query gave.
        failed: whether it raised.
    """
    found = {plain(name) for name in executed}
    if found - {plain(claimed)}:
        return "contradicted"
    if not found:
        return "none"
    return "partial" if failed or not outputs else "proven"


def execution_devices(compiled: Any) -> list[str]:
    """The devices on which a compiled model executes, as it says itself."""
    return [str(name) for name in compiled.get_property("EXECUTION_DEVICES")]


def _operators(parts: Iterable[Any]) -> str:
    """How many operators execute in each type of number: `f32 40, i32 12`."""
    types = Counter(type_ for part in parts for _, type_ in kinds_and_types(part))
    return ", ".join(f"{type_} {count}" for type_, count in sorted(types.items()))
