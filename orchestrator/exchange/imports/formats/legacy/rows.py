"""Rows: one result for each model, hardware and batch size, in a list or alone."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.exchange.imports.document import TOP, Document, pointer
from orchestrator.exchange.imports.entry import Reading, gather
from orchestrator.exchange.imports.formats.legacy.json_object import (
    Context,
    JsonObject,
    Node,
    build_measurement,
    status_fields,
)
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.simulation_marks import marks_in
from runner.contract.errors import DamagedFile, SkipEntry

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
_REMARKS = frozenset({"warning", "warnings", "note", "notes"})
_LISTS = ("results", "benchmark_results", "benchmarks", "data")
_MODES = ("inference", "generation", "training", "startup")


def metric_columns(entry: JsonObject) -> dict[str, Any]:
    """Take the columns whose quantity and unit an entry's keys name, each once."""
    columns: dict[str, Any] = {name: entry.count(name) for name in _COUNTS}
    columns |= {name: entry.text(name) for name in _TEXTS}
    for key, (column, unit) in _COLUMNS.items():
        if columns.get(column) is None:
            columns[column] = entry.number(key, column, unit)
            if columns[column] is not None and key in _NOTES:
                entry.note(key, _NOTES[key])
    return columns


def has_metric(value: Any) -> bool:
    """True for an object that names one of these quantities."""
    return isinstance(value, dict) and any(key in value for key in _COLUMNS)


@dataclass
class LegacyFormat:
    """A format of the project, recognised by the keys and types of the JSON value."""

    name: str
    matches: Callable[[Any], bool]
    nodes: Callable[[Any], Iterable[Node]]
    """The entries of such a value."""
    nothing: str
    """The kind of a file that holds no measurement."""
    source: str = "ipfs_accelerate_py"

    def recognises(self, document: Document) -> bool:
        """True if the file's JSON has this shape."""
        try:
            return self.matches(document.json)
        except RecursionError:
            return False

    def read(self, document: Document) -> Reading:
        """Read the measurements."""
        try:
            return gather(self.nodes(document.json), self.nothing)
        except RecursionError as error:
            raise DamagedFile("it is nested too deeply") from error
        except SkipEntry as skipped:
            raise DamagedFile(*skipped.reasons) from skipped


def is_map(value: Any, *keys: str) -> bool:
    """True for an object with these keys."""
    return isinstance(value, dict) and all(key in value for key in keys)


def is_map_of_maps(value: Any) -> bool:
    """True for an object that holds at least one object."""
    return isinstance(value, dict) and any(isinstance(item, dict) for item in value.values())


def has_map(value: Any, *keys: str) -> bool:
    """True for an object that holds an object under each of these keys."""
    return isinstance(value, dict) and all(isinstance(value.get(key), dict) for key in keys)


def has_any(value: Any, *keys: str) -> bool:
    """True for an object in which one of these keys is not null."""
    return isinstance(value, dict) and any(value.get(key) is not None for key in keys)


def without_remarks(value: dict[str, Any]) -> dict[str, Any]:
    """An object of entries without warnings, notes and marks about all of them."""
    return {name: item for name, item in value.items() if not _is_remark(name, item)}


def _is_remark(name: str, item: Any) -> bool:
    marks = () if isinstance(item, dict) else marks_in({name: item})
    return name.lower() in _REMARKS or bool(marks)


def _has_rows(value: Any) -> bool:
    rows = value if isinstance(value, list) else [value] if _is_row(value) else _listed(value)[1]
    return any(_is_row(item) for item in rows)


def _listed(value: Any) -> tuple[str, list[Any]]:
    """The list of rows in an object, and its key."""
    for key in _LISTS if isinstance(value, dict) else ():
        if isinstance(value.get(key), list):
            return key, value[key]
    return "", []


def _is_row(value: Any) -> bool:
    return (
        has_any(value, "model_name", "model_key", "model")
        and has_any(value, "hardware_type", "hardware")
        and has_metric(value)
    )


def _row_nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, list):
        yield from (Node(row, pointer(TOP, index), _row_result) for index, row in enumerate(value))
    elif _is_row(value):
        yield Node(value, TOP, _row_result)
    else:
        key, rows = _listed(value)
        whole = JsonObject({name: item for name, item in value.items() if name != key}, TOP)
        fields = {"measured_at": whole.moment("timestamp", "created_at")}
        context = Context(fields, whole.details(), marks_in(whole.value, TOP))
        for index, row in enumerate(rows):
            yield Node(row, pointer(TOP, key, index), _row_result, context)


def _row_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    metrics = entry.inner("metrics")
    case = entry.seen("test_case")
    fields = {
        **status_fields(entry),
        **metric_columns(entry),
        "model": entry.text("model_name", "model", "model_key"),
        "family": entry.text("model_family", "family"),
        "modality": entry.text("modality"),
        "backend": entry.text("hardware_type", "hardware"),
        "mode": case if case in _MODES else None,
        "measured_at": entry.moment("timestamp", "created_at"),
    }
    details = {**context.details, **(metrics.details("metrics") if metrics else {})}
    inside = Context(context.fields, details, context.marks)
    return build_measurement(entry, inside, fields)


ROWS_FORMAT = LegacyFormat("legacy-rows", _has_rows, _row_nodes, "a list without results")
