"""Sweeps over families, models, hardware and sizes, and the methods of running one model."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from orchestrator.exchange.imports.document import TOP, last_key, pointer
from orchestrator.exchange.imports.formats.legacy.json_object import (
    Context,
    JsonObject,
    Node,
    build_measurement,
    build_outcome,
    status_fields,
)
from orchestrator.exchange.imports.formats.legacy.machine import cuda_device_name, machine_of
from orchestrator.exchange.imports.formats.legacy.rows import (
    LegacyFormat,
    has_map,
    is_map_of_maps,
    metric_columns,
)
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.simulation_marks import marks_in
from runner.contract.errors import SkipEntry

_CONFIGURATION = re.compile(
    r"batch_(\d{1,9})(?:_seq_(\d{1,9})|_img_(\d{1,9})x(\d{1,9})|_audio_(\d{1,9})s)?", re.ASCII
)
_FORWARD = ("embedding", "vision")
_GENERATES = ("tokens_per_second", "avg_output_length")
_RESULTS = "benchmark_results"
_METHODS = ("pipeline", "from_pretrained", "openvino")
_ENDS = ("success", "error", "traceback", "error_type")
_TIMES = {"avg_time": "latency_mean_s", "min_time": "latency_min_s", "max_time": "latency_max_s"}
_PARTS = ("results", "performance", "metadata", "examples")


def sweep_nodes(value: dict[str, Any], location: str, context: Context) -> Iterator[Node]:
    """Each configuration of each model on each hardware; a failure to load is one node."""
    whole = JsonObject(value, location)
    device, machine = cuda_device_name(whole), machine_of(whole)
    fields = {**context.fields, **machine.fields, "measured_at": whole.moment("timestamp")}
    details = {**context.details, **machine.details}
    marks = (*context.marks, *marks_in(value, location, without=("benchmarks",)))
    for run_place, run in _runs(value["benchmarks"], pointer(location, "benchmarks"), levels=3):
        keys = run_place.split("/")[-3:]
        names = dict(zip(("family", "model", "backend"), map(last_key, keys), strict=False))
        on_gpu = {"device_name": device} if names.get("backend") == "cuda" else {}
        yield from _of_run(run, run_place, Context({**fields, **names, **on_gpu}, details, marks))


def _runs(value: Any, location: str, levels: int) -> Iterator[tuple[str, Any]]:
    if levels and isinstance(value, dict):
        for key, item in value.items():
            yield from _runs(item, pointer(location, key), levels - 1)
    else:
        yield location, value


def _of_run(run: Any, location: str, context: Context) -> Iterator[Node]:
    if has_map(run, _RESULTS) and is_map_of_maps(run[_RESULTS]):
        for key, item in run[_RESULTS].items():
            read = partial(_configuration, Node(run, location, _without_results))
            yield Node(item, pointer(location, _RESULTS, key), read, context)
    else:
        yield Node(run, location, _without_results, context)


def _configuration(run: Node, entry: JsonObject, context: Context) -> ImportedMeasurement:
    above = JsonObject({**run.value, _RESULTS: None, "status": None}, run.location)
    fields = {
        **_run_fields(above),
        **_shape(entry),
        **status_fields(entry),
        "mode": _mode(entry, context.fields.get("family")),
        "durations_ns": entry.durations("latencies", "s"),
        "latency_mean_s": entry.number("avg_latency", "latency_mean_s"),
        "steady_time_s": entry.number("total_time", "steady_time_s"),
    }
    fields |= {name: item for name, item in metric_columns(entry).items() if item is not None}
    inside = Context(context.fields, {**context.details, **above.details("run")}, context.marks)
    marks = (*marks_in(above.value, run.location), *marks_in(entry.value, entry.location))
    return build_measurement(entry, inside, fields, marks)


def _without_results(entry: JsonObject, context: Context) -> ImportedMeasurement:
    results, own = entry.seen(_RESULTS), status_fields(entry)
    below = status_fields(JsonObject(results, pointer(entry.location, _RESULTS))) if results else {}
    ending = below if below and own.get("status", "ok") == "ok" else own
    if ending.get("status", "ok") == "ok":
        raise SkipEntry
    fields = {**_run_fields(entry), **ending}
    return build_measurement(entry, context, fields)


def _run_fields(run: JsonObject) -> dict[str, Any]:
    return {
        "model": run.text("model_name"),
        "family": run.text("family"),
        "backend": run.text("hardware"),
        "load_time_s": run.number("model_load_time", "load_time_s"),
        "measured_at": run.moment("timestamp"),
    }


def _shape(entry: JsonObject) -> dict[str, Any]:
    match = _CONFIGURATION.fullmatch(entry.name)
    if not match:
        return {}
    numbers = (int(text) if text else None for text in match.groups())
    batch, sequence, height, width, seconds = numbers
    return {
        "batch_size": batch,
        "sequence_length": sequence,
        "image_size": height if height == width else None,
        "audio_seconds": seconds,
    }


def _mode(entry: JsonObject, family: str | None) -> str | None:
    if any(entry.seen(key) is not None for key in _GENERATES):
        return "generation"
    return "inference" if family in _FORWARD else None


def _is_sweep(value: Any) -> bool:
    if not has_map(value, "benchmarks"):
        return False
    runs = [run for _, run in _runs(value["benchmarks"], TOP, levels=3)]
    return any(isinstance(run, dict) and {_RESULTS, "status"} & set(run) for run in runs) or (
        not runs and has_map(value, "system_info")
    )


SWEEP_FORMAT = LegacyFormat(
    "legacy-sweep",
    _is_sweep,
    lambda value: sweep_nodes(value, TOP, Context()),
    "a sweep that measured nothing",
)


def holds_methods(value: Any) -> bool:
    """True if it holds, for one model, the result of each method of running it."""
    if not has_map(value, "results", "metadata") or not value["results"]:
        return False
    return all(
        _method(name)
        and isinstance(result, dict)
        and any(key.endswith("success") for key in result)
        for name, result in value["results"].items()
    )


def _method_nodes(value: dict[str, Any]) -> Iterator[Node]:
    about = JsonObject(value["metadata"], pointer(TOP, "metadata"))
    rest = {key: item for key, item in value.items() if key not in _PARTS}
    context = Context(
        {
            "model": about.text("model", "model_name"),
            "task": about.text("task"),
            "measured_at": about.moment("timestamp"),
        },
        {**about.details("metadata"), **JsonObject(rest, TOP).details()},
        marks_in({"metadata": about.value, **rest}, TOP),
    )
    timings = value["performance"] if has_map(value, "performance") else {}
    for name, result in value["results"].items():
        timed = timings.get(name)
        whole = {**(timed if isinstance(timed, dict) else {}), **_plain(result, _method(name))}
        yield Node(whole, pointer(TOP, "results", name), _method_result, context)


def _method(name: str) -> str:
    """The method that a result's name begins with."""
    return next((method for method in _METHODS if name.startswith(method)), "")


def _plain(result: dict[str, Any], method: str) -> dict[str, Any]:
    """A result without the method's name in its keys."""
    return {key.removeprefix(f"{method}_"): item for key, item in result.items()}


def _method_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    ending = {key: entry.value[key] for key in _ENDS if entry.value.get(key) not in (None, "none")}
    fields: dict[str, Any] = {
        **status_fields(JsonObject(ending, entry.location)),
        **{column: entry.number(key, column) for key, column in _TIMES.items()},
        "model": entry.text("model"),
        "task": entry.text("task"),
        "backend": entry.text("device"),
        "iterations": entry.count("num_runs"),
        "load_time_s": entry.number("model_load_time", "load_time_s"),
    }
    if fields["load_time_s"] is None:
        fields["load_time_s"] = entry.number("load_time", "load_time_s")
    return build_outcome(entry, context, fields)


METHODS_FORMAT = LegacyFormat(
    "legacy-methods", holds_methods, _method_nodes, "a model that was tried in no way"
)
