"""Conditions of two measurements beside the software: what differs between them, in words."""

from collections.abc import Iterator, Mapping
from typing import Any

from runner.contract.record.ids import MEMORY_FACT, memory_in_gib

CHOSEN: Mapping[str, str] = {"heat_s": "heating in seconds"}
"""Settings that a run chose, by column, in words; null is none."""
MACHINE_SETTINGS: Mapping[str, str] = {
    "cpu_governor": "CPU governor",
    "cpu_scaling_driver": "frequency driver",
    "cpu_energy_preference": "energy preference",
    "cpu_turbo": "turbo",
    "cpu_smt": "SMT",
    "device_power_limit_watts": "power limit in watts",
    "device_ecc": "ECC",
    "device_pcie_width": "PCIe lanes",
    "device_pcie_generation": "PCIe generation",
    "device_memory_bytes": "device memory in bytes",
    "device_compute_units": "compute units",
    "transparent_huge_pages": "transparent huge pages",
}
"""Settings of the machine, by column, in words; null is not known."""
CONDITIONS: Mapping[str, str] = {**CHOSEN, **MACHINE_SETTINGS}
"""Columns of results that a user may change between two measurements, in words."""
_PART, _WHOLE = "device_partition", "none"
HARDWARE_WORDS: Mapping[str, str] = {
    _PART: "part of the device",
    "cpu_model": "processor",
    "cpu_cores_physical": "cores",
    "cpu_cores_logical": "logical cores",
    MEMORY_FACT: "memory in GiB",
}
"""Facts behind `hardware_id` beside the device's name, by column of `hardware_info`, in words."""
_VARIABLES = "environment_variables"
DIRTY = "-dirty"
"""The end of a commit's name whose checkout had changes."""
_UNSET = "not set"

MachineState = Mapping[str, Any]
"""The columns of `CONDITIONS`, with the variables."""


def differences(then: MachineState, now: MachineState) -> tuple[str, ...]:
    """Differences that are known, as `CPU governor powersave, now performance`."""
    return (
        *chosen_differences(then, now),
        *machine_differences(then, now),
        *variable_differences(then, now),
    )


def chosen_differences(then: MachineState, now: MachineState) -> Iterator[str]:
    """Differences of `CHOSEN`."""
    return _differing(CHOSEN, then, now)


def machine_differences(then: MachineState, now: MachineState) -> Iterator[str]:
    """Differences of `MACHINE_SETTINGS` that both tell."""
    return _known_differences(MACHINE_SETTINGS, then, now)


def hardware_differences(then: MachineState, now: MachineState) -> Iterator[str]:
    """Differences of `HARDWARE_WORDS` that both tell, for machines whose devices have one name."""
    before, after = (
        {**memory_in_gib(facts), _PART: facts.get(_PART) or _WHOLE} for facts in (then, now)
    )
    return _known_differences(HARDWARE_WORDS, before, after)


def variable_differences(then: MachineState, now: MachineState) -> Iterator[str]:
    """Differences of environment variables."""
    before, after = then.get(_VARIABLES) or {}, now.get(_VARIABLES) or {}
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield f"{name} {before.get(name, _UNSET)}, now {after.get(name, _UNSET)}"


def _known_differences(
    names: Mapping[str, str], then: MachineState, now: MachineState
) -> Iterator[str]:
    known = {
        name: words for name, words in names.items() if None not in {then.get(name), now.get(name)}
    }
    return _differing(known, then, now)


def _differing(names: Mapping[str, str], then: MachineState, now: MachineState) -> Iterator[str]:
    for name, words in names.items():
        before, after = then.get(name), now.get(name)
        if before != after:
            yield f"{words} {_shown(before)}, now {_shown(after)}"


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
