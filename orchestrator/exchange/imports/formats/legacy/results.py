"""Results of single models: rows of a list, and one for each batch size of a model."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from orchestrator.exchange.imports.document import TOP, pointer
from orchestrator.exchange.imports.formats.legacy.columns import has_metric, metric_columns
from orchestrator.exchange.imports.formats.legacy.json_object import (
    Context,
    JsonObject,
    LegacyFormat,
    Node,
    build_measurement,
    build_outcome,
    has_any,
    has_map,
    is_map,
    status_fields,
)
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.simulation_marks import marks_in

_LISTS = ("results", "benchmark_results", "benchmarks", "data")
_MODES = ("inference", "generation", "training", "startup")
_MEASURED = ("benchmark_data", "summary")


def _is_row(value: Any) -> bool:
    return (
        has_any(value, "model_name", "model_key", "model")
        and has_any(value, "hardware_type", "hardware")
        and has_metric(value)
    )


def _listed(value: Any) -> tuple[str, list[Any]]:
    for key in _LISTS if isinstance(value, dict) else ():
        if isinstance(value.get(key), list):
            return key, value[key]
    return "", []


def _has_rows(value: Any) -> bool:
    return any(map(_is_row, value if isinstance(value, list) else (value, *_listed(value)[1])))


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
    case = entry.value.get("test_case")
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
    inside = context.extended(details=metrics.details("metrics") if metrics else {})
    return build_measurement(entry, inside, fields)


ROWS_FORMAT = LegacyFormat("legacy-rows", _has_rows, _row_nodes, "a list without results")


def _is_direct(value: Any) -> bool:
    if has_map(value, "batch_results"):
        return is_map(value, "model")
    return is_map(value, "model", "hardware", "success", "error") and not value["success"]


def _direct_nodes(value: Any, location: str, context: Context) -> Iterator[Node]:
    whole = JsonObject(value, location)
    fields = {
        "model": whole.text("model"),
        "backend": whole.text("hardware") or context.fields.get("backend"),
        "measured_at": whole.moment("timestamp"),
    }
    marks = marks_in(value, location, without=("batch_results",))
    inside = context.extended(fields, marks=marks)
    results = list(whole.nodes("batch_results", _direct_result, inside))
    if not results and status_fields(whole).get("status", "ok") != "ok":
        yield Node(value, location, _direct_result, inside)
    yield from results


def _direct_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    requested = context.fields["backend"]
    # This writer falls back to the CPU, and only `device` says so.
    backend = "cpu" if entry.value.get("device") == "cpu" else requested
    columns = metric_columns(entry)
    fields = {
        **status_fields(entry),
        **columns,
        "batch_size": columns.get("batch_size") or _batch_size(entry),
        "backend": backend,
        "measured_at": entry.moment("timestamp"),
        "runtime": "torch",
        "mode": "inference",
        "durations_ns": entry.durations("latencies_ms", "ms"),
    }
    if backend == "cpu" and entry.value.get("memory_mb"):
        fields["memory_average_bytes"] = entry.number("memory_mb", "memory_average_bytes", "MiB")
        entry.note("memory_mb", "mean resident memory; MB are 1024 × 1024 bytes")
    if requested and backend != requested:
        context = context.extended(details={"hardware": requested})
    return build_measurement(entry, context, fields)


def _batch_size(entry: JsonObject) -> int | None:
    """The batch size that is the key of an entry."""
    return int(entry.name) if entry.name.isascii() and entry.name.isdigit() else None


DIRECT_FORMAT = LegacyFormat(
    "legacy-direct",
    _is_direct,
    lambda value: _direct_nodes(value, TOP, Context()),
    "a direct benchmark that measured nothing",
)


def _is_batch(value: Any) -> bool:
    if not has_map(value, "results") or not is_map(value, "models", "hardware"):
        return False
    runs = value["results"].values()
    return all(is_map(run, "success") or has_map(run, "benchmark_data") for run in runs)


def _batch_nodes(value: Any) -> Iterator[Node]:
    whole = JsonObject(value, TOP)
    fields = {"backend": whole.text("hardware"), "measured_at": whole.moment("timestamp")}
    context = Context(fields, marks=marks_in(value, TOP, without=("results",)))
    for node in whole.nodes("results", _failed_model, context):
        data = node.value.get("benchmark_data")
        if not has_map(data, "batch_results") or not data["batch_results"]:
            yield node
            continue
        run = {key: item for key, item in node.value.items() if key not in _MEASURED}
        details = JsonObject(run, node.location).details("run")
        inside = context.extended(details=details, marks=marks_in(run, node.location))
        yield from _direct_nodes(data, pointer(node.location, "benchmark_data"), inside)


def _failed_model(entry: JsonObject, context: Context) -> ImportedMeasurement:
    fields = {
        **status_fields(entry),
        "model": entry.text("model") or entry.name,
        "backend": entry.text("hardware"),
        "measured_at": entry.moment("timestamp"),
    }
    return build_outcome(entry, context, fields)


BATCH_FORMAT = LegacyFormat(
    "legacy-batch", _is_batch, _batch_nodes, "a batch of direct benchmarks without a result"
)


def _is_by_batch_size(value: Any) -> bool:
    return (
        has_map(value, "batch_sizes")
        and has_any(value, "model", "model_path", "model_key")
        and has_any(value, "hardware", "hardware_key")
    )


def _batch_size_nodes(value: Any) -> Iterator[Node]:
    whole = JsonObject(value, TOP)
    fields = {
        "model": whole.text("model_path", "model", "model_key"),
        "backend": whole.text("hardware_key", "hardware"),
        "family": whole.text("model_category"),
        "measured_at": whole.moment("timestamp"),
    }
    results = list(whole.nodes("batch_sizes", _batch_size_result, Context()))
    context = Context(fields, whole.details(), marks_in(value, TOP, without=("batch_sizes",)))
    if not results and whole.value.get("compatible") is False:
        yield Node(value, TOP, _incompatible, context)
    yield from (replace(node, context=context) for node in results)


def _batch_size_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    columns = metric_columns(entry)
    fields = {
        **status_fields(entry),
        **columns,
        "batch_size": columns.get("batch_size") or _batch_size(entry),
        "measured_at": entry.moment("timestamp"),
    }
    return build_measurement(entry, context, fields)


def _incompatible(entry: JsonObject, context: Context) -> ImportedMeasurement:
    return build_outcome(JsonObject({}, entry.location), context, status_fields(entry))


BY_BATCH_SIZE_FORMAT = LegacyFormat(
    "legacy-by-batch-size",
    _is_by_batch_size,
    _batch_size_nodes,
    "a benchmark of a model for which no batch size was measured",
)
