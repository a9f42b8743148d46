"""Keys that name a column's quantity together with its unit."""

from collections.abc import Mapping
from typing import Any

from orchestrator.imports.formats.legacy.entry import Entry

_COLUMNS: Mapping[str, tuple[str, str | None]] = {
    "avg_latency_ms": ("latency_mean_s", "ms"),
    "average_latency_ms": ("latency_mean_s", "ms"),
    "mean_latency_ms": ("latency_mean_s", "ms"),
    "latency_mean_ms": ("latency_mean_s", "ms"),
    "latency_avg_ms": ("latency_mean_s", "ms"),
    "avg_inference_time_ms": ("latency_mean_s", "ms"),
    "mean_inference_time_ms": ("latency_mean_s", "ms"),
    "latency_ms": ("latency_mean_s", "ms"),
    "inference_time_ms": ("latency_mean_s", "ms"),
    "median_latency_ms": ("latency_median_s", "ms"),
    "latency_median_ms": ("latency_median_s", "ms"),
    "median_inference_time_ms": ("latency_median_s", "ms"),
    "min_inference_time_ms": ("latency_min_s", "ms"),
    "max_inference_time_ms": ("latency_max_s", "ms"),
    "std_latency_ms": ("latency_stddev_s", "ms"),
    "latency_std_ms": ("latency_stddev_s", "ms"),
    "first_inference_time_ms": ("first_latency_s", "ms"),
    "min_latency_ms": ("latency_min_s", "ms"),
    "latency_min_ms": ("latency_min_s", "ms"),
    "max_latency_ms": ("latency_max_s", "ms"),
    "latency_max_ms": ("latency_max_s", "ms"),
    "latency_p50_ms": ("latency_p50_s", "ms"),
    "p50_latency_ms": ("latency_p50_s", "ms"),
    "latency_p90_ms": ("latency_p90_s", "ms"),
    "p90_latency_ms": ("latency_p90_s", "ms"),
    "latency_p95_ms": ("latency_p95_s", "ms"),
    "p95_latency_ms": ("latency_p95_s", "ms"),
    "latency_p99_ms": ("latency_p99_s", "ms"),
    "p99_latency_ms": ("latency_p99_s", "ms"),
    "load_time_ms": ("load_time_s", "ms"),
    "model_load_time_ms": ("load_time_s", "ms"),
    "model_load_time": ("load_time_s", None),
    "throughput_items_per_second": ("throughput", None),
    "throughput_samples_per_second": ("throughput", None),
    "samples_per_second": ("throughput", None),
    "items_per_second": ("throughput", None),
    "throughput": ("throughput", None),
    "memory_peak_mb": ("memory_peak_bytes", "MiB"),
    "peak_memory_mb": ("memory_peak_bytes", "MiB"),
    "max_memory_allocated": ("memory_allocator_peak_bytes", "MiB"),
}
_NOTES: Mapping[str, str] = {
    "std_latency_ms": "of a sample or of all is not said",
    "latency_std_ms": "of a sample or of all is not said",
    "latency_ms": "of which kind is not said, kept as the mean",
    "inference_time_ms": "of which kind is not said, kept as the mean",
    "memory_peak_mb": "whose memory is not said; MB as this project counts it, 1024 × 1024 bytes",
    "peak_memory_mb": "whose memory is not said; MB as this project counts it, 1024 × 1024 bytes",
    "max_memory_allocated": "MB as this project counts it, 1024 × 1024 bytes",
}
_TEXTS = ("precision", "device_name")
_COUNTS = ("iterations", "warmup_iterations", "batch_size", "sequence_length")


def columns_of(entry: Entry) -> dict[str, Any]:
    """The columns whose quantity and unit an entry's keys name; what they say twice stays.

    Raises:
        NotReadable: one of them is no number.
    """
    columns: dict[str, Any] = {name: entry.count(name) for name in _COUNTS}
    columns |= {name: entry.text(name) for name in _TEXTS}
    for key, (column, unit) in _COLUMNS.items():
        if columns.get(column) is None:
            columns[column] = entry.number(key, column, unit)
            if columns[column] is not None and key in _NOTES:
                entry.note(key, _NOTES[key])
    return columns


def has_metric(value: Any) -> bool:
    """Whether an object names one of these quantities."""
    return isinstance(value, dict) and any(key in value for key in _COLUMNS)
