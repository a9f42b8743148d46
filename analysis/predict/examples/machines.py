"""Devices with their peaks: measured by jobs on them, else from data sheets."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias, get_args

from pydantic import PositiveFloat, PositiveInt

from analysis.predict.examples.placements import Device, ExampleRows, KnownMachine, Placement
from analysis.results.source import OWN_SOURCES, ArrowSource
from runner.contract.axes import Precision
from runner.contract.cell import Frozen

DeviceKind: TypeAlias = Literal["cpu", "gpu", "npu"]
_RATES: Mapping[str, tuple[str, ...]] = {
    "fp32": ("fp32_tflops",),
    "tf32": ("tf32_tflops", "fp32_tflops"),
    "fp16": ("fp16_tflops", "fp32_tflops"),
    "bf16": ("bf16_tflops", "fp16_tflops", "fp32_tflops"),
    "int8": ("int8_tops", "fp16_tflops", "fp32_tflops"),
}
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
    compute_units: PositiveInt | None = None
    """Multiprocessors, compute units, or cores."""
    clock_ghz: PositiveFloat | None = None
    """The clock at which a processor's rate is meant; null for accelerators."""
    year: PositiveInt | None = None
    source: str

    @property
    def memory_bytes(self) -> int | None:
        return None if self.memory_gib is None else round(self.memory_gib * GIB)

    def device(self, key: str, name: str, precision: str) -> Device | None:
        names = _RATES.get(_SPELLINGS.get(precision, precision), _RATES["fp32"])
        rate = next((rate for name in names if (rate := getattr(self, name)) is not None), None)
        if not (rate and self.memory_gb_per_s):
            return None
        traffic = self.memory_gb_per_s * GIGA
        return Device(key, name, self.kind, rate * TERA, traffic, measured=False)


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
    text = (files("analysis.predict.examples") / "devices.json").read_text("utf-8")
    devices = [NominalDevice.model_validate(one) for one in json.loads(text)["devices"]]
    return {
        plain_spelling(spelling): device
        for device in devices
        for spelling in (device.name, *device.aliases)
    }


def plain_spelling(name: str) -> str:
    """A name of a device without what people spell differently."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@dataclass(frozen=True)
class MachinePeaks:
    """The highest peaks that jobs measured, by machine, precision and threads."""

    flops_per_s: Mapping[tuple[str, str], float]
    bytes_per_s: Mapping[str, float]

    def device(self, name: str, machine: str | None, backend: str, precision: str) -> Device | None:
        """The device in this precision; None where nobody knows its peaks."""
        kind = DEVICE_KINDS.get(backend, "cpu")
        names = (precision, *_STAND_INS.get(precision, ()))
        peaks = (self.flops_per_s.get((machine or "", one)) for one in names)
        flops = next(filter(None, peaks), None)
        traffic = self.bytes_per_s.get(machine or "")
        if flops and traffic:
            return Device(machine or name, name, kind, flops, traffic, measured=True)
        nominal = nominal_device(name)
        return nominal.device(machine or nominal.name, name, precision) if nominal else None


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


_VENDORS: Mapping[tuple[str, DeviceKind], tuple[str, ...]] = {
    ("NVIDIA", "gpu"): ("cuda",),
    ("AMD", "gpu"): ("rocm",),
    ("Apple", "gpu"): ("mps",),
    ("Intel", "gpu"): ("openvino",),
    ("Intel", "npu"): ("openvino",),
    ("Qualcomm", "npu"): ("qnn",),
}
_ON_PROCESSORS = ("cpu", "openvino")
_PRECISIONS: tuple[str, ...] = get_args(Precision)


def known_machines(source: ArrowSource, rows: ExampleRows) -> tuple[KnownMachine, ...]:
    """The machines that results were measured on: our own first, then those with most examples."""
    by_machine: dict[str, list[Placement]] = defaultdict(list)
    ours: set[str] = set()
    for row, placement in zip(rows.rows, rows.placements, strict=True):
        by_machine[placement.device.key].append(placement)
        if row["source"] in OWN_SOURCES:
            ours.add(placement.device.key)
    peaks = machine_peaks(source)
    memory = source.arrow("""
        SELECT hardware_id,
            coalesce(max(r.device_memory_bytes), max(h.memory_total_bytes)) AS bytes
        FROM benchmark_results r JOIN hardware_info h USING (hardware_id)
        WHERE NOT r.simulated GROUP BY hardware_id ORDER BY hardware_id
    """).to_pylist()
    sizes = {row["hardware_id"]: row["bytes"] for row in memory}
    order = sorted(by_machine, key=lambda key: (key not in ours, -len(by_machine[key]), key))
    return tuple(_measured(by_machine[key], peaks, sizes.get(key)) for key in order)


def machine_of_data_sheet(name: str, known: Sequence[KnownMachine]) -> KnownMachine | None:
    """A device that a data sheet describes, with the newest software of known machines."""
    nominal = nominal_device(name)
    if nominal is None:
        return None
    devices = {
        precision: device
        for precision in _PRECISIONS
        if (device := nominal.device(nominal.name, nominal.name, precision)) is not None
    }
    vendor = nominal.name.partition(" ")[0]
    backends = _VENDORS.get((vendor, nominal.kind), ())
    return KnownMachine(
        key=nominal.name,
        name=nominal.name,
        backends=backends if nominal.kind != "cpu" else _ON_PROCESSORS,
        devices=devices,
        software=_newest_of_all(known),
        threads=nominal.compute_units if nominal.kind == "cpu" else None,
        memory_bytes=nominal.memory_bytes,
    )


def find_machine(name: str, machines: Sequence[KnownMachine]) -> KnownMachine | None:
    """The machine of that id or name, else the first whose name holds it; None if there is none."""
    wanted = plain_spelling(name)
    for fits in (str.__eq__, str.__contains__):
        for machine in machines:
            if any(fits(plain_spelling(word), wanted) for word in (machine.key, machine.name)):
                return machine
    return None


def _measured(
    placements: Sequence[Placement], peaks: MachinePeaks, memory_bytes: int | None
) -> KnownMachine:
    device = placements[0].device
    nominal = nominal_device(device.name)
    machine = None if nominal and nominal.name == device.key else device.key
    backends = tuple(name for name, _ in Counter(one.backend for one in placements).most_common())
    devices = {
        precision: known
        for precision in _PRECISIONS
        if (known := peaks.device(device.name, machine, backends[0], precision)) is not None
    }
    threads = Counter(one.threads for one in placements if one.threads)
    software: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for placement in placements:
        software[placement.path][placement.software] += 1
    return KnownMachine(
        key=device.key,
        name=device.name,
        backends=backends,
        devices={**devices, **{one.precision: one.device for one in placements}},
        software={
            path: max(counts, key=lambda name: (_version(name), counts[name]))
            for path, counts in software.items()
        },
        threads=threads.most_common(1)[0][0] if threads else None,
        memory_bytes=memory_bytes or (nominal.memory_bytes if nominal else None),
    )


def _newest_of_all(machines: Iterable[KnownMachine]) -> dict[tuple[str, str], str]:
    newest: dict[tuple[str, str], str] = {}
    for machine in machines:
        for path, software in machine.software.items():
            if path not in newest or _version(software) > _version(newest[path]):
                newest[path] = software
    return newest


def _version(software: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", software.partition(" ")[0])))
