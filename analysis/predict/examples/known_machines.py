"""The machines of which something is known: those of a database, and those of data sheets."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from analysis.predict.examples.example_rows import ExampleRows
from analysis.predict.examples.machines import (
    DeviceKind,
    MachinePeaks,
    machine_peaks,
    nominal_device,
    plain_spelling,
)
from analysis.predict.examples.placements import KnownMachine, Placement
from analysis.results.source import OWN_SOURCES, ArrowSource
from runner.contract.axes import Precision

_VENDORS: Mapping[tuple[str, DeviceKind], tuple[str, ...]] = {
    ("NVIDIA", "gpu"): ("cuda",),
    ("AMD", "gpu"): ("rocm",),
    ("Apple", "gpu"): ("mps",),
    ("Intel", "gpu"): ("openvino",),
    ("Intel", "npu"): ("openvino",),
    ("Qualcomm", "npu"): ("qnn",),
}
"""Backends by the first word of a device's name, and its kind."""
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
    peaks, memory = machine_peaks(source), _memory_bytes(source)
    order = sorted(by_machine, key=lambda key: (key not in ours, -len(by_machine[key]), key))
    return tuple(_measured(by_machine[key], peaks, memory) for key in order)


def machine_of_data_sheet(name: str, known: Sequence[KnownMachine]) -> KnownMachine | None:
    """A device on which nothing was measured, with the newest software of known machines.

    None if no data sheet of it is known, however its name is spelt.
    """
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
    placements: Sequence[Placement], peaks: MachinePeaks, memory: Mapping[str, int]
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
    return KnownMachine(
        key=device.key,
        name=device.name,
        backends=backends,
        devices={**devices, **{one.precision: one.device for one in placements}},
        software=_newest(placements),
        threads=threads.most_common(1)[0][0] if threads else None,
        memory_bytes=memory.get(device.key) or (nominal.memory_bytes if nominal else None),
    )


def _newest(placements: Iterable[Placement]) -> dict[tuple[str, str], str]:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for placement in placements:
        counts[placement.path][placement.software] += 1
    return {
        path: max(of_path, key=lambda software: (_version(software), of_path[software]))
        for path, of_path in counts.items()
    }


def _newest_of_all(machines: Iterable[KnownMachine]) -> dict[tuple[str, str], str]:
    newest: dict[tuple[str, str], str] = {}
    for machine in machines:
        for path, software in machine.software.items():
            if path not in newest or _version(software) > _version(newest[path]):
                newest[path] = software
    return newest


def _version(software: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", software.partition(" ")[0])))


def _memory_bytes(source: ArrowSource) -> dict[str, int]:
    rows = source.arrow("""
        SELECT hardware_id,
            coalesce(max(r.device_memory_bytes), max(h.memory_total_bytes)) AS bytes
        FROM benchmark_results r JOIN hardware_info h USING (hardware_id)
        WHERE NOT r.simulated GROUP BY hardware_id ORDER BY hardware_id
    """).to_pylist()
    return {row["hardware_id"]: row["bytes"] for row in rows if row["bytes"]}
