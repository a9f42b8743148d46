"""Circumstances of two measurements of one cell: what differs between them, in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis.results.comparability import SCOPE
from analysis.results.conditions import (
    CONDITIONS,
    DIRTY,
    HARDWARE_WORDS,
    chosen_differences,
    differences,
    hardware_differences,
    machine_differences,
    variable_differences,
)
from analysis.results.source import ArrowSource, text

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
"""Letters of a digest or a commit that are shown."""
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
"""The facts of one result."""


def circumstances_of(source: ArrowSource, ids: Sequence[str]) -> dict[str, Circumstances]:
    """The circumstances of these results, by their ids."""
    if not ids:
        return {}
    sql = f"""
        SELECT {_COLUMNS} FROM benchmark_results r
        LEFT JOIN environments e USING (environment_id)
        LEFT JOIN hardware_info h USING (hardware_id)
        WHERE r.result_id IN ({", ".join(map(text, ids))})
    """
    rows = source.arrow(sql).to_pylist()
    return {row["result_id"]: _with_maps(row) for row in rows}


def circumstance_changes(then: Circumstances, now: Circumstances) -> tuple[str, ...]:
    """The changes that are known, as `torch 2.13.0, now 2.14.0`."""
    return (
        *_changed_facts(then, now),
        *(hardware_differences(then, now) if then["device"] == now["device"] else ()),
        *_changed_libraries(then, now),
        *differences(then, now),
        *_changed_gauges(then, now),
    )


def setting_changes(then: Circumstances, now: Circumstances) -> tuple[str, ...]:
    """The changes of settings that do not follow from another machine or another image."""
    is_one_machine = then["hardware_id"] is not None and then["hardware_id"] == now["hardware_id"]
    is_one_image = then["image_digest"] == now["image_digest"]
    return (
        *chosen_differences(then, now),
        *(machine_differences(then, now) if is_one_machine else ()),
        *(variable_differences(then, now) if is_one_image else ()),
    )


def common_changes(changes: Iterable[Sequence[str]]) -> tuple[str, ...]:
    known = [list(words) for words in changes]
    if not known:
        return ()
    return tuple(word for word in known[0] if all(word in words for words in known))


def _with_maps(row: dict[str, Any]) -> Circumstances:
    maps = {name: dict(row[name] or ()) for name in ("environment_variables", "libraries")}
    return {**row, **maps}


def _changed_facts(then: Circumstances, now: Circumstances) -> Iterator[str]:
    for name, words in _FACTS.items():
        before, after = then[name], now[name]
        if before is not None and after is not None and before != after:
            yield f"{words} {_shown(name, before)}, now {_shown(name, after)}"


def _shown(name: str, value: object) -> str:
    if name in _SHORTENED:
        words = str(value).removeprefix("sha256:")
        return words[:_LETTERS] + (DIRTY if words.endswith(DIRTY) else "")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _changed_libraries(then: Circumstances, now: Circumstances) -> Iterator[str]:
    if not (then["libraries"] and now["libraries"]):  # an exported table tells none
        return
    for name in sorted({*then["libraries"], *now["libraries"]}):
        before, after = (facts["libraries"].get(name, "missing") for facts in (then, now))
        if before != after:
            yield f"{name} {before}, now {after}"


def _changed_gauges(then: Circumstances, now: Circumstances) -> Iterator[str]:
    for name, (words, unit, least) in _GAUGES.items():
        before, after = then[name], now[name]
        if before is None or after is None:
            continue
        change = abs(after / before - 1) if name in _RELATIVE else abs(after - before) / unit
        if change > least:
            yield f"{words} {before / unit:.3g}, now {after / unit:.3g}"
