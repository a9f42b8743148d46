"""Inference benchmarks: one model on one device, a result for each batch size."""

from collections.abc import Iterator
from typing import Any

from orchestrator.exchange.imports.document import TOP, pointer
from orchestrator.exchange.imports.formats.legacy.json_object import (
    Context,
    JsonObject,
    Node,
    build_measurement,
    build_outcome,
    status_fields,
)
from orchestrator.exchange.imports.formats.legacy.rows import (
    LegacyFormat,
    has_any,
    has_map,
    is_map,
    metric_columns,
)
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.simulation_marks import marks_in

_MEASURED = ("benchmark_data", "summary")


def batch_nodes(value: Any, location: str, context: Context) -> Iterator[Node]:
    """The results of one model; its failure if it has none."""
    whole = JsonObject(value, location)
    inside = Context(
        fields={
            **context.fields,
            "model": whole.text("model"),
            "backend": whole.text("hardware") or context.fields.get("backend"),
            "measured_at": whole.moment("timestamp"),
        },
        details=context.details,
        marks=(*context.marks, *marks_in(value, location, without=("batch_results",))),
    )
    results = list(whole.nodes("batch_results", result, inside))
    if not results and status_fields(JsonObject(value, location)).get("status", "ok") != "ok":
        yield Node(value, location, result, inside)
    yield from results


def result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    """The result at one batch size."""
    columns = metric_columns(entry)
    backend = _actual_backend(context.fields["backend"], entry.seen("device"))
    fields = {
        **status_fields(entry),
        **columns,
        "backend": backend,
        "batch_size": columns["batch_size"] or _batch_size(entry),
        "measured_at": entry.moment("timestamp"),
        "runtime": "torch",
        "mode": "inference",
        "durations_ns": entry.durations("latencies_ms", "ms"),
    }
    if backend == "cpu" and entry.seen("memory_mb"):
        fields["memory_average_bytes"] = entry.number("memory_mb", "memory_average_bytes", "MiB")
        entry.note("memory_mb", "mean resident memory; MB are 1024 × 1024 bytes")
    requested = context.fields["backend"]
    if requested and backend != requested:
        context = Context(context.fields, {**context.details, "hardware": requested}, context.marks)
    return build_measurement(entry, context, fields)


def _actual_backend(hardware: str | None, device: Any) -> str | None:
    """The device that ran it: this writer falls back to the CPU, and only `device` says so."""
    return "cpu" if device == "cpu" else hardware


def _batch_size(entry: JsonObject) -> int | None:
    return int(entry.name) if entry.name.isascii() and entry.name.isdigit() else None


def _is_direct(value: Any) -> bool:
    if has_map(value, "batch_results"):
        return is_map(value, "model")
    return is_map(value, "model", "hardware", "success", "error") and not value["success"]


DIRECT_FORMAT = LegacyFormat(
    "legacy-direct",
    _is_direct,
    lambda value: batch_nodes(value, TOP, Context()),
    "a direct benchmark that measured nothing",
)


def _is_batch(value: Any) -> bool:
    if not has_map(value, "results") or not is_map(value, "models", "hardware"):
        return False
    runs = value["results"].values()
    return all(is_map(run, "success") or has_map(run, "benchmark_data") for run in runs)


def _batch_runs(value: Any) -> Iterator[Node]:
    whole = JsonObject(value, TOP)
    context = Context(
        fields={"backend": whole.text("hardware"), "measured_at": whole.moment("timestamp")},
        marks=marks_in(value, TOP, without=("results",)),
    )
    for node in whole.nodes("results", _without_results, context):
        yield from _of_model(node)


def _of_model(node: Node) -> Iterator[Node]:
    data = node.value.get("benchmark_data")
    if not has_map(data, "batch_results") or not data["batch_results"]:
        yield node
        return
    run = {key: item for key, item in node.value.items() if key not in _MEASURED}
    context = Context(
        fields=node.context.fields,
        details=JsonObject(run, node.location).details("run"),
        marks=(*node.context.marks, *marks_in(run, node.location)),
    )
    yield from batch_nodes(data, pointer(node.location, "benchmark_data"), context)


def _without_results(entry: JsonObject, context: Context) -> ImportedMeasurement:
    fields = {
        **status_fields(entry),
        "model": entry.text("model") or entry.name,
        "backend": entry.text("hardware"),
        "measured_at": entry.moment("timestamp"),
    }
    return build_outcome(entry, context, fields)


BATCH_FORMAT = LegacyFormat(
    "legacy-batch", _is_batch, _batch_runs, "a batch of direct benchmarks without a result"
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
    marks = marks_in(value, TOP, without=("batch_sizes",))
    results = list(whole.nodes("batch_sizes", _batch_size_result, Context(fields, {}, marks)))
    context = Context(fields, whole.details(), marks)
    if not results and whole.seen("compatible") is False:
        yield Node(value, TOP, _incompatible, context)
    yield from (Node(node.value, node.location, _batch_size_result, context) for node in results)


def _batch_size_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    columns = metric_columns(entry)
    named = int(entry.name) if entry.name.isascii() and entry.name.isdigit() else None
    fields = {
        **status_fields(entry),
        **columns,
        "batch_size": columns["batch_size"] or named,
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
