"""Circumstances of two measurements of one cell: what differs between them, in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis.results.series import SCOPE
from analysis.results.source import ArrowSource, text
from runner.contract.record.ids import MEMORY_FACT, memory_in_gib

_CHOSEN: Mapping[str, str] = {"heat_s": "heating in seconds"}
"""Settings that a run chose, by column, in words; null is none."""
_MACHINE: Mapping[str, str] = {
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
CONDITIONS: Mapping[str, str] = {**_CHOSEN, **_MACHINE}
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
_FACTS: Mapping[str, str] = {
    "image_digest": "image",
    "runner_version": "runner",
    "git_commit": "commit",
    "kernel": "kernel",
    "python_version": "Python",
    "operating_system": "operating system",
    "device": "device",
    "launcher": "launcher",
    "timed_region": "timed region",
    "threads": "threads",
    "container_cpu_limit": "CPU limit",
    "profile": "profile",
    "rounds": "processes",
    SCOPE: "energy scope",
}
"""Facts that differ if they are not equal, in words."""
_GAUGES: Mapping[str, tuple[str, float, float]] = {
    "cpu_clock_hz": ("CPU clock in GHz", 1e9, 0.05),
    "device_clock_hz": ("device clock in MHz", 1e6, 0.05),
    "noise_other_load": ("other processes' share of the CPU in %", 0.01, 5.0),
    "noise_steal": ("stolen CPU time in %", 0.01, 1.0),
    "noise_kernel_shift": ("drift of fixed arithmetic in %", 0.01, 10.0),
}
"""Facts that never repeat exactly: in words, the unit in base units, and the least difference that
is named: relative for clocks, in the unit for noise."""
_RELATIVE = frozenset({"cpu_clock_hz", "device_clock_hz"})
_LETTERS = 12
_SHORTENED = frozenset({"image_digest", "git_commit"})
_COLUMNS = ", ".join(
    (
        *("r.result_id", "r.hardware_id"),
        *("e.environment_variables", "e.libraries"),
        "coalesce(h.device_name, h.cpu_model) AS device",
        *(f"h.{name}" for name in HARDWARE_WORDS),
        *(f"r.{name}" for name in CONDITIONS),
        *(f"r.{name}" for name in _GAUGES),
        *(f"r.{name}" for name in ("git_commit", "launcher", "timed_region", "threads")),
        *(f"r.{name}" for name in ("container_cpu_limit", "profile", "rounds", SCOPE)),
        *(f"e.{name}" for name in ("image_digest", "runner_version", "kernel")),
        *(f"e.{name}" for name in ("python_version", "operating_system")),
    )
)
Circumstances = Mapping[str, Any]


def circumstances_of(source: ArrowSource, ids: Sequence[str]) -> dict[str, Circumstances]:
    if not ids:
        return {}
    sql = f"""
        SELECT {_COLUMNS} FROM benchmark_results r
        LEFT JOIN environments e USING (environment_id)
        LEFT JOIN hardware_info h USING (hardware_id)
        WHERE r.result_id IN ({", ".join(map(text, ids))})
    """
    rows = source.arrow(sql).to_pylist()
    maps = (_VARIABLES, "libraries")
    return {row["result_id"]: row | {name: dict(row[name] or ()) for name in maps} for row in rows}


def circumstance_changes(then: Circumstances, now: Circumstances) -> tuple[str, ...]:
    """The changes that are known, as `torch 2.13.0, now 2.14.0`."""
    libraries = then["libraries"], now["libraries"]  # an exported table tells none
    return (
        *_known_differences(_FACTS, then, now),
        *(hardware_differences(then, now) if then["device"] == now["device"] else ()),
        *(_changed_entries(*libraries, "missing") if all(libraries) else ()),
        *differences(then, now),
        *_changed_gauges(then, now),
    )


def differences(then: Circumstances, now: Circumstances) -> tuple[str, ...]:
    """Differences of variables and `CONDITIONS`; those of the machine where both sides know."""
    return (
        *_differing(_CHOSEN, then, now),
        *_known_differences(_MACHINE, then, now),
        *_changed_variables(then, now),
    )


def setting_changes(then: Circumstances, now: Circumstances) -> tuple[str, ...]:
    """The changes of settings that do not follow from another machine or another image."""
    is_one_machine = then["hardware_id"] is not None and then["hardware_id"] == now["hardware_id"]
    is_one_image = then["image_digest"] == now["image_digest"]
    return (
        *_differing(_CHOSEN, then, now),
        *(_known_differences(_MACHINE, then, now) if is_one_machine else ()),
        *(_changed_variables(then, now) if is_one_image else ()),
    )


def hardware_differences(then: Circumstances, now: Circumstances) -> Iterator[str]:
    """Differences of `HARDWARE_WORDS` that both tell, for machines whose devices have one name."""
    before, after = (
        {**memory_in_gib(facts), _PART: facts.get(_PART) or _WHOLE} for facts in (then, now)
    )
    return _known_differences(HARDWARE_WORDS, before, after)


def common_changes(changes: Iterable[Sequence[str]]) -> tuple[str, ...]:
    known = [list(words) for words in changes]
    if not known:
        return ()
    return tuple(word for word in known[0] if all(word in words for words in known))


def _known_differences(
    names: Mapping[str, str], then: Circumstances, now: Circumstances
) -> Iterator[str]:
    known = {
        name: words for name, words in names.items() if None not in (then.get(name), now.get(name))
    }
    return _differing(known, then, now)


def _differing(names: Mapping[str, str], then: Circumstances, now: Circumstances) -> Iterator[str]:
    for name, words in names.items():
        before, after = then.get(name), now.get(name)
        if before != after:
            yield f"{words} {_shown(name, before)}, now {_shown(name, after)}"


def _shown(name: str, value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if name in _SHORTENED:
        words = str(value).removeprefix("sha256:")
        return words[:_LETTERS] + (DIRTY if words.endswith(DIRTY) else "")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _changed_variables(then: Circumstances, now: Circumstances) -> Iterator[str]:
    return _changed_entries(then.get(_VARIABLES) or {}, now.get(_VARIABLES) or {}, "not set")


def _changed_entries(
    then: Mapping[str, str], now: Mapping[str, str], missing: str
) -> Iterator[str]:
    for name in sorted({*then, *now}):
        if then.get(name) != now.get(name):
            yield f"{name} {then.get(name, missing)}, now {now.get(name, missing)}"


def _changed_gauges(then: Circumstances, now: Circumstances) -> Iterator[str]:
    for name, (words, unit, least) in _GAUGES.items():
        before, after = then[name], now[name]
        if before is None or after is None:
            continue
        change = abs(after / before - 1) if name in _RELATIVE else abs(after - before) / unit
        if change > least:
            yield f"{words} {before / unit:.3g}, now {after / unit:.3g}"
