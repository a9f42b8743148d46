"""Devices with their peaks: measured by jobs on them, else from data sheets."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from pydantic import PositiveFloat, PositiveInt

from analysis.predict.examples.placements import Device
from analysis.results.source import ArrowSource
from runner.contract.cell import Frozen

DeviceKind: TypeAlias = Literal["cpu", "gpu", "npu"]
_RATES: Mapping[str, tuple[str, ...]] = {
    "fp32": ("fp32_tflops",),
    "tf32": ("tf32_tflops", "fp32_tflops"),
    "fp16": ("fp16_tflops", "fp32_tflops"),
    "bf16": ("bf16_tflops", "fp16_tflops", "fp32_tflops"),
    "int8": ("int8_tops", "fp16_tflops", "fp32_tflops"),
}
"""The rates that stand for a precision, the first that is known."""
_SPELLINGS = {"amp": "fp16", "amp_bf16": "bf16", "float16": "fp16", "float32": "fp32"}
TERA, GIGA, GIB = 1e12, 1e9, 2**30
DEVICE_KINDS: Mapping[str, DeviceKind] = {
    **dict.fromkeys(("cuda", "rocm", "mps", "webgpu"), "gpu"),
    **dict.fromkeys(("qnn", "webnn"), "npu"),
}
"""By backend; all others compute on processors."""
_STAND_INS: Mapping[str, Sequence[str]] = {"int8": ("fp32",), "bf16": ("fp32",), "fp16": ("fp32",)}
"""Precisions whose measured peak stands for one that has no product of its own."""


class NominalDevice(Frozen):
    """A device as its data sheet describes it, without sparsity."""

    name: str
    aliases: tuple[str, ...] = ()
    kind: DeviceKind
    fp32_tflops: PositiveFloat | None = None
    """10¹² FLOP per second outside of tensor cores, at the clock of the data sheet."""
    tf32_tflops: PositiveFloat | None = None
    fp16_tflops: PositiveFloat | None = None
    """With sums in fp32."""
    bf16_tflops: PositiveFloat | None = None
    int8_tops: PositiveFloat | None = None
    memory_gb_per_s: PositiveFloat | None = None
    memory_gib: PositiveFloat | None = None
    """Memory of an accelerator; null for processors."""
    power_w: PositiveFloat | None = None
    """Power limit of the board, or of the package."""
    compute_units: PositiveInt | None = None
    """Multiprocessors, compute units, or cores."""
    clock_ghz: PositiveFloat | None = None
    """The clock at which a processor's rate is meant; null for accelerators."""
    year: PositiveInt | None = None
    source: str
    """The document with these figures."""

    @property
    def memory_bytes(self) -> int | None:
        """Memory of an accelerator."""
        return None if self.memory_gib is None else round(self.memory_gib * GIB)

    def device(self, key: str, name: str, precision: str) -> Device | None:
        names = _RATES.get(_SPELLINGS.get(precision, precision), _RATES["fp32"])
        rate = next((rate for name in names if (rate := getattr(self, name)) is not None), None)
        if not (rate and self.memory_gb_per_s):
            return None
        traffic = self.memory_gb_per_s * GIGA
        return Device(key, name, self.kind, rate * TERA, traffic, measured=False)


@cache
def nominal_devices() -> tuple[NominalDevice, ...]:
    text = (files("analysis.predict.examples") / "devices.json").read_text("utf-8")
    return tuple(NominalDevice.model_validate(one) for one in json.loads(text)["devices"])


@cache
def nominal_device(name: str) -> NominalDevice | None:
    """The device of that name, however it is spelt; None if no data sheet of it is known."""
    plain = plain_spelling(name)
    spellings = _spellings()
    if plain in spellings:
        return spellings[plain]
    held = [spelling for spelling in spellings if spelling in plain]
    return spellings[max(held, key=len)] if held else None


@cache
def _spellings() -> Mapping[str, NominalDevice]:
    return {
        plain_spelling(spelling): device
        for device in nominal_devices()
        for spelling in (device.name, *device.aliases)
    }


def plain_spelling(name: str) -> str:
    """A name of a device without what people spell differently."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@dataclass(frozen=True)
class MachinePeaks:
    """The highest peaks that jobs measured, by machine, precision and threads."""

    flops_per_s: Mapping[tuple[str, str], float]
    """By machine and precision."""
    bytes_per_s: Mapping[str, float]

    def device(self, name: str, machine: str | None, backend: str, precision: str) -> Device | None:
        """The device in this precision; None where nobody knows its peaks."""
        kind = DEVICE_KINDS.get(backend, "cpu")
        flops = self._flops(machine, precision)
        traffic = self.bytes_per_s.get(machine or "")
        if flops and traffic:
            return Device(machine or name, name, kind, flops, traffic, measured=True)
        nominal = nominal_device(name)
        return nominal.device(machine or nominal.name, name, precision) if nominal else None

    def _flops(self, machine: str | None, precision: str) -> float | None:
        names = (precision, *_STAND_INS.get(precision, ()))
        known = (self.flops_per_s.get((machine or "", name)) for name in names)
        return next((flops for flops in known if flops), None)


def machine_peaks(source: ArrowSource) -> MachinePeaks:
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
