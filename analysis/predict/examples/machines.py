"""Devices with their peaks: measured by jobs on them, else from data sheets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.predict.examples.devices import DeviceKind, nominal_device
from analysis.predict.examples.placements import Device
from analysis.results.source import ArrowSource

DEVICE_KINDS: Mapping[str, DeviceKind] = {
    **dict.fromkeys(("cuda", "rocm", "mps", "webgpu"), "gpu"),
    **dict.fromkeys(("qnn", "webnn"), "npu"),
}
"""By backend; all others compute on processors."""
_STAND_INS: Mapping[str, Sequence[str]] = {"int8": ("fp32",), "bf16": ("fp32",), "fp16": ("fp32",)}
"""Precisions whose measured peak stands for one that has no product of its own."""


@dataclass(frozen=True)
class MachinePeaks:
    """The highest peaks that jobs measured, by machine, precision and threads."""

    flops_per_s: Mapping[tuple[str, str], float]
    """By machine and precision."""
    bytes_per_s: Mapping[str, float]
    """By machine."""

    def device(self, name: str, machine: str | None, backend: str, precision: str) -> Device | None:
        """The device in this precision; None where nobody knows its peaks."""
        kind = DEVICE_KINDS.get(backend, "cpu")
        flops = self._flops(machine, precision)
        traffic = self.bytes_per_s.get(machine or "")
        if flops and traffic:
            return Device(machine or name, name, kind, flops, traffic, measured=True)
        nominal = nominal_device(name)
        if nominal is None:
            return None
        flops, traffic = nominal.flops_per_s(precision), nominal.bytes_per_s
        if not (flops and traffic):
            return None
        return Device(machine or nominal.name, name, nominal.kind, flops, traffic, measured=False)

    def _flops(self, machine: str | None, precision: str) -> float | None:
        names = (precision, *_STAND_INS.get(precision, ()))
        known = (self.flops_per_s.get((machine or "", name)) for name in names)
        return next((flops for flops in known if flops), None)


def machine_peaks(source: ArrowSource) -> MachinePeaks:
    """The peaks that a database holds."""
    rows = source.arrow("""
        SELECT hardware_id, precision, max(peak_flops_per_s) AS flops,
            max(peak_bytes_per_s) AS traffic
        FROM benchmark_results
        WHERE hardware_id IS NOT NULL AND NOT simulated
            AND coalesce(peak_flops_per_s, peak_bytes_per_s) IS NOT NULL
        GROUP BY ALL ORDER BY ALL
    """).to_pylist()
    flops = {(one["hardware_id"], one["precision"]): one["flops"] for one in rows if one["flops"]}
    traffic: dict[str, float] = {}
    for one in rows:
        if one["traffic"]:
            traffic[one["hardware_id"]] = max(traffic.get(one["hardware_id"], 0), one["traffic"])
    return MachinePeaks(flops, traffic)
