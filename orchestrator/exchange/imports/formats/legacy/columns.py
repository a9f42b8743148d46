"""Columns that the keys of an object name: metrics with their units, and the machine."""

from collections.abc import Mapping
from typing import Any

from orchestrator.exchange.imports.formats.legacy.json_object import Context, JsonObject
from orchestrator.exchange.imports.simulation_marks import marks_in
from runner.contract.errors import SkipEntry

_COLUMNS: Mapping[str, tuple[str | None, tuple[str, ...]]] = {
    "latency_mean_s": (
        "ms",
        (
            *("avg_latency_ms", "average_latency_ms", "mean_latency_ms", "latency_mean_ms"),
            *("latency_avg_ms", "avg_inference_time_ms", "mean_inference_time_ms", "latency_ms"),
            "inference_time_ms",
        ),
    ),
    "latency_median_s": (
        "ms",
        ("median_latency_ms", "latency_median_ms", "median_inference_time_ms"),
    ),
    "latency_min_s": ("ms", ("min_inference_time_ms", "min_latency_ms", "latency_min_ms")),
    "latency_max_s": ("ms", ("max_inference_time_ms", "max_latency_ms", "latency_max_ms")),
    "latency_stddev_s": ("ms", ("std_latency_ms", "latency_std_ms")),
    "first_latency_s": ("ms", ("first_inference_time_ms",)),
    "latency_p50_s": ("ms", ("latency_p50_ms", "p50_latency_ms")),
    "latency_p90_s": ("ms", ("latency_p90_ms", "p90_latency_ms")),
    "latency_p95_s": ("ms", ("latency_p95_ms", "p95_latency_ms")),
    "latency_p99_s": ("ms", ("latency_p99_ms", "p99_latency_ms")),
    "load_time_s": ("ms", ("load_time_ms", "model_load_time_ms")),
    "throughput": (
        None,
        (
            *("throughput_items_per_second", "throughput_samples_per_second"),
            *("samples_per_second", "items_per_second", "throughput"),
        ),
    ),
    "memory_peak_bytes": ("MiB", ("memory_peak_mb", "peak_memory_mb")),
    "memory_allocator_peak_bytes": ("MiB", ("max_memory_allocated",)),
}
"""Unit and keys of each column: the first key that holds a number counts."""
_LOAD_TIME = "model_load_time"
"""A key without a unit in its name: seconds."""
_NOTES: Mapping[str, str] = {
    **dict.fromkeys(("std_latency_ms", "latency_std_ms"), "of a sample or of all is not said"),
    **dict.fromkeys(
        ("latency_ms", "inference_time_ms"), "of which kind is not said, kept as the mean"
    ),
    **dict.fromkeys(
        ("memory_peak_mb", "peak_memory_mb"),
        "whose memory is not said; MB as this project counts it, 1024 × 1024 bytes",
    ),
    "max_memory_allocated": "MB as this project counts it, 1024 × 1024 bytes",
}
_METRICS = frozenset({_LOAD_TIME, *(key for _, keys in _COLUMNS.values() for key in keys)})
_TEXTS = ("precision", "device_name")
_COUNTS = ("iterations", "warmup_iterations", "batch_size", "sequence_length")
_REMARKS = frozenset({"warning", "warnings", "note", "notes"})
_NO_LIBRARIES = frozenset(("os_version", "python_version", "schema_version", "platform_version"))


def metric_columns(entry: JsonObject) -> dict[str, Any]:
    """Take the columns whose quantity and unit an entry's keys name, each once."""
    columns: dict[str, Any] = {name: entry.count(name) for name in _COUNTS}
    columns |= {name: entry.text(name) for name in _TEXTS}
    for column, (unit, keys) in _COLUMNS.items():
        for key in keys:
            columns[column] = entry.number(key, column, unit)
            if columns[column] is not None:
                if key in _NOTES:
                    entry.note(key, _NOTES[key])
                break
    if columns["load_time_s"] is None:
        columns["load_time_s"] = entry.number(_LOAD_TIME, "load_time_s")
    return {name: value for name, value in columns.items() if value is not None}


def has_metric(value: Any) -> bool:
    return isinstance(value, dict) and not _METRICS.isdisjoint(value)


def without_remarks(value: dict[str, Any]) -> dict[str, Any]:
    """An object of entries without warnings, notes and marks about all of them."""
    return {
        name: item
        for name, item in value.items()
        if name.lower() not in _REMARKS and (isinstance(item, dict) or not marks_in({name: item}))
    }


def machine_of(whole: JsonObject) -> Context:
    system, hardware = whole.inner("system_info"), whole.inner("hardware_details")
    devices = hardware.value.get("openvino_device_info") if hardware else None
    cpu = devices.get("CPU") if isinstance(devices, dict) else None
    fields: dict[str, Any] = {"cpu_model": cpu if isinstance(cpu, str) else None}
    details = hardware.details("hardware_details") if hardware else {}
    if system:
        fields |= {
            "hostname": system.text("hostname"),
            "operating_system": system.text("platform", "os"),
            "machine": system.text("architecture"),
            "python_version": python_of(system),
            "cpu_cores_physical": _positive(system, "cpu_count_physical", "cpu_cores_physical"),
            "cpu_cores_logical": _positive(system, "cpu_count_logical", "cpu_cores_logical"),
            "memory_total_bytes": _positive(system, "total_memory_gb", "memory_total_bytes", "GiB"),
            "libraries": libraries_of(system),
        }
        details |= system.details("system_info")
    return Context({name: value for name, value in fields.items() if value is not None}, details)


def cuda_device_name(whole: JsonObject) -> str | None:
    """The name of the CUDA device, if there is but one."""
    for key in ("system_info", "hardware_details"):
        inside = whole.value.get(key)
        devices = inside.get("cuda_devices") if isinstance(inside, dict) else None
        if isinstance(devices, list) and len(devices) == 1 and isinstance(devices[0], dict):
            name = devices[0].get("name")
            return name if isinstance(name, str) else None
    return None


def python_of(entry: JsonObject) -> str | None:
    """Python's version, without what follows it in `sys.version`."""
    version = entry.value.get("python_version")
    return next(iter(version.split()), None) if isinstance(version, str) else None


def libraries_of(entry: JsonObject) -> dict[str, str]:
    """Versions of libraries, by `<library>_version`."""
    keys = [key for key in entry.value if key.endswith("_version") and key not in _NO_LIBRARIES]
    versions = ((key.removesuffix("_version"), entry.text(key)) for key in keys)
    return {library: version for library, version in versions if version}


def _positive(
    entry: JsonObject, key: str, column: str, unit: str | None = None
) -> int | float | None:
    value = entry.value.get(key)
    if not isinstance(value, int | float) or not value > 0:
        return None
    try:
        number = entry.number(key, column, unit)
    except SkipEntry:
        return None
    return number if isinstance(number, int) else None
