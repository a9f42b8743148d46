"""Targets of optimum-benchmark's reports, grouped by measurement.

Its own code settles what the numbers mean: a latency is the time of one call, memory is MB of 10^6
bytes, energy is the mean of one call, as codecarbon estimates it. Four things have no column, since
ours mean something else: `stdev` is the population's, the throughput of `generate` counts tokens
with some runtimes, that of `train` counts the samples of all steps in the time of one, and a
latency in the scenario `energy_star` is the time of the whole data set. `per_token` holds the gaps
between tokens of all calls, pooled.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.exchange.imports.entry import FileEntry
from orchestrator.exchange.imports.measurement import is_null
from orchestrator.system.problems import quote

JsonTree = dict[str, Any]
_KINDS = ("memory", "latency", "throughput", "energy", "efficiency")
_GENERATION = ("generate", "decode", "prefill", "per_token")
_MODES: Mapping[str, str] = {
    "generation": "generation",
    "forward": "inference",
    "call": "inference",
    "train": "training",
}
_LOADS = ("load_model", "load")
_AROUND = frozenset(
    {*_LOADS, "warmup", "overall", "load_dataset", "preprocess_dataset", "per_step"}
)
_LATENCY = {
    "iterations": "count",
    "steady_time_s": "total",
    "latency_mean_s": "mean",
    "latency_median_s": "p50",
    "latency_p50_s": "p50",
    "latency_p90_s": "p90",
    "latency_p95_s": "p95",
    "latency_p99_s": "p99",
}
_MEMORY = {"memory_peak_bytes": "max_ram", "memory_allocator_peak_bytes": "max_allocated"}
_PARTS = {"prefill": "first_token", "decode": "decode", "per_token": "per_token"}
_DEFAULT_UNITS = {"latency": "s", "memory": "MB", "energy": "kWh"}
_JOULES_PER_KWH = 3_600_000


@dataclass(frozen=True)
class ReportTarget:
    """One measurement of a report."""

    subject: str
    """`generation`, `load`, or the target itself."""
    name: str
    """The most informative target."""
    report: JsonTree
    """Its targets, and those about loading and first calls."""


def is_report(data: JsonTree) -> bool:
    """True if a target in it has the shape of measurements."""
    return any(map(_is_target, data.values()))


def targets_in(report: JsonTree) -> Iterator[ReportTarget]:
    """The measurements of a report, each with the targets of loads and first calls."""
    filled = [name for name, target in report.items() if _is_target(target) and _is_filled(target)]
    around = {name: report[name] for name in report if name not in filled or _is_around(name)}
    generation = {name: report[name] for name in _GENERATION if name in filled}
    if generation:
        yield ReportTarget("generation", next(iter(generation)), around | generation)
    rest = [name for name in filled if name not in _GENERATION and name not in around]
    for name in rest:
        yield ReportTarget(name, name, around | {name: report[name]})
    if filled and not generation and not rest:
        yield ReportTarget("load", filled[0], around)


def fill_entry(entry: FileEntry, group: ReportTarget, of_data_set: bool) -> None:
    """Fill the entry's columns with one measurement; all else becomes details.

    `of_data_set` says that a latency is the time of the whole data set.
    """
    entry.measures()
    entry.set(mode=_MODES.get(group.subject))
    targets = _Targets(entry, group.report)
    targets.check()
    name = "generate" if group.subject == "generation" else group.name
    for load in _LOADS:
        targets.number("load_time_s", load, "latency", "mean")
    targets.number("first_latency_s", f"first_{name}", "latency", "mean")
    if not _is_around(name):
        _memory(targets, "generate" if "generate" in group.report else group.name)
        _energy(targets, name, "the whole data set" if of_data_set else "one call")
        if of_data_set:
            targets.number("steady_time_s", name, "latency", "total")
        else:
            _latency(targets, name)
            _tokens(targets)
        targets.rate("decode_throughput", "decode", "tokens/s")
        if name == "forward":
            targets.rate("throughput", name, "samples/s")
    entry.detail("report", group.report)


def _latency(targets: "_Targets", name: str) -> None:
    for column, key in _LATENCY.items():
        targets.number(column, name, "latency", key)
    targets.durations(name)


def _tokens(targets: "_Targets") -> None:
    targets.number("time_to_first_token_mean_s", "prefill", "latency", "mean")
    targets.number("inter_token_latency_mean_s", "per_token", "latency", "mean")
    for name, part in _PARTS.items():
        targets.durations(name, part)


def _memory(targets: "_Targets", name: str) -> None:
    for column, key in _MEMORY.items():
        targets.number(column, name, "memory", key)
    # In a container the driver does not know the process by its number, and 0 is reported.
    if targets.kind(name, "memory").get("max_process_vram"):
        targets.number("memory_device_peak_bytes", name, "memory", "max_process_vram")


def _energy(targets: "_Targets", name: str, span: str) -> None:
    if targets.number("energy_joules", name, "energy", "total"):
        targets.entry.detail("energy_joules", f"of {span}, as codecarbon estimates it")
    efficiency = targets.kind(name, "efficiency")
    value = efficiency.get("value")
    if efficiency.get("unit") == "samples/kWh" and isinstance(value, int | float) and value > 0:
        location = f"report.{name}.efficiency.value"
        targets.entry.number("energy_per_sample_joules", location, _JOULES_PER_KWH / value)


class _Targets:
    """Reads values of targets into an entry."""

    def __init__(self, entry: FileEntry, report: JsonTree) -> None:
        self.entry = entry
        self._report = report

    def check(self) -> None:
        """Record a fault for every kind of measurement that is no table."""
        for name, target in self._report.items():
            for kind in _KINDS if _is_target(target) else ():
                if not isinstance(target.get(kind), dict | None):
                    message = f"{quote(target[kind])} is not a table of measurements"
                    self.entry.fault(f"report.{name}.{kind}", message)

    def kind(self, name: str, kind: str) -> JsonTree:
        """One kind of a target's measurements; empty if there is none."""
        target = self._report.get(name)
        table = target.get(kind) if isinstance(target, dict) else None
        return table if isinstance(table, dict) else {}

    def number(self, column: str, name: str, kind: str, key: str) -> bool:
        """Set a column from a value in its unit; returns True if there is one."""
        table = self.kind(name, kind)
        unit = None if key == "count" else str(table.get("unit") or _DEFAULT_UNITS[kind])
        self.entry.number(column, f"report.{name}.{kind}.{key}", table.get(key), unit)
        return table.get(key) is not None

    def rate(self, column: str, name: str, unit: str) -> None:
        """Set a throughput if it is in the column's unit."""
        table = self.kind(name, "throughput")
        if table.get("unit") == unit:
            self.entry.number(column, f"report.{name}.throughput.value", table.get("value"))

    def durations(self, name: str, part: str | None = None) -> None:
        """Set raw durations, of whole iterations or of a part of them."""
        table = self.kind(name, "latency")
        unit = str(table.get("unit") or _DEFAULT_UNITS["latency"])
        self.entry.durations(f"report.{name}.latency.values", table.get("values"), unit, part)


def _is_target(target: Any) -> bool:
    if not isinstance(target, dict):
        return False
    tables = [target[kind] for kind in _KINDS if isinstance(target.get(kind), dict)]
    return any("unit" in table for table in tables) or (
        target.keys() >= set(_KINDS) and not any(target.values())
    )


def _is_filled(target: JsonTree) -> bool:
    kinds = [target[kind] for kind in _KINDS if target.get(kind)]
    return any(not isinstance(kind, dict) or _has_values(kind) for kind in kinds)


def _has_values(kind: JsonTree) -> bool:
    values = [value for name, value in kind.items() if name != "unit"]
    return any(value != [] and not is_null(value) for value in values)


def _is_around(name: str) -> bool:
    return name in _AROUND or name.startswith("first_")
