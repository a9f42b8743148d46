"""Sweeps and suites: many models on many platforms; their progress, and tests in browsers."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from orchestrator.exchange.imports.document import TOP, last_key, pointer
from orchestrator.exchange.imports.formats.legacy.columns import (
    cuda_device_name,
    machine_of,
    metric_columns,
)
from orchestrator.exchange.imports.formats.legacy.comparison import check_nodes, holds_checks
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
    is_map_of_maps,
    status_fields,
)
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.simulation_marks import marks_in
from runner.contract.errors import SkipEntry

_CONFIGURATION = re.compile(
    r"batch_(\d{1,9})(?:_seq_(\d{1,9})|_img_(\d{1,9})x(\d{1,9})|_audio_(\d{1,9})s)?", re.ASCII
)
_GENERATES = ("tokens_per_second", "avg_output_length")
_RESULTS = "benchmark_results"
_METHODS = ("pipeline", "from_pretrained", "openvino")
_ENDS = ("success", "error", "traceback", "error_type")
_TIMES = {"avg_time": "latency_mean_s", "min_time": "latency_min_s", "max_time": "latency_max_s"}
_PARTS = ("results", "performance", "metadata", "examples")
_BROWSER_KEYS = ("metrics", "test_file", "reason", "platform_support", "error", "execution_time")
_STATUSES = {
    "completed_benchmarks": "completed",
    "failed_benchmarks": "failed",
    "skipped_benchmarks": "skipped",
}
_CHECKS = "functionality_verification"
_SWEEPS = "performance_benchmarks"


def _is_sweep(value: Any) -> bool:
    if not has_map(value, "benchmarks"):
        return False
    runs = [run for _, run in _runs(value["benchmarks"], TOP, levels=3)]
    return any(isinstance(run, dict) and {_RESULTS, "status"} & set(run) for run in runs) or (
        not runs and has_map(value, "system_info")
    )


def _sweep_nodes(value: dict[str, Any], location: str, context: Context) -> Iterator[Node]:
    """Each configuration of each model on each hardware; a failure to load is one node."""
    whole = JsonObject(value, location)
    device, machine = cuda_device_name(whole), machine_of(whole)
    inside = context.extended(
        {**machine.fields, "measured_at": whole.moment("timestamp")},
        machine.details,
        marks_in(value, location, without=("benchmarks",)),
    )
    for run_location, run in _runs(value["benchmarks"], pointer(location, "benchmarks"), levels=3):
        keys = run_location.split("/")[-3:]
        names = dict(zip(("family", "model", "backend"), map(last_key, keys), strict=False))
        on_gpu = {"device_name": device} if names.get("backend") == "cuda" else {}
        below = inside.extended({**names, **on_gpu})
        if has_map(run, _RESULTS) and is_map_of_maps(run[_RESULTS]):
            read = partial(_configuration, JsonObject(run, run_location))
            for key, item in run[_RESULTS].items():
                yield Node(item, pointer(run_location, _RESULTS, key), read, below)
        else:
            yield Node(run, run_location, _failed_run, below)


def _runs(value: Any, location: str, levels: int) -> Iterator[tuple[str, Any]]:
    if levels and isinstance(value, dict):
        for key, item in value.items():
            yield from _runs(item, pointer(location, key), levels - 1)
    else:
        yield location, value


def _configuration(run: JsonObject, entry: JsonObject, context: Context) -> ImportedMeasurement:
    above = JsonObject({**run.value, _RESULTS: None, "status": None}, run.location)
    generates = has_any(entry.value, *_GENERATES)
    forward = context.fields.get("family") in ("embedding", "vision")
    fields = {
        **_run_fields(above),
        **_shape(entry),
        **status_fields(entry),
        "mode": "generation" if generates else "inference" if forward else None,
        "durations_ns": entry.durations("latencies", "s"),
        "latency_mean_s": entry.number("avg_latency", "latency_mean_s"),
        "steady_time_s": entry.number("total_time", "steady_time_s"),
        **metric_columns(entry),
    }
    inside = context.extended(details=above.details("run"))
    marks = (*marks_in(above.value, run.location), *marks_in(entry.value, entry.location))
    return build_measurement(entry, inside, fields, marks)


def _failed_run(entry: JsonObject, context: Context) -> ImportedMeasurement:
    """A run that failed, by its own words or by those where its results would be."""
    results, own = entry.value.get(_RESULTS), status_fields(entry)
    below = status_fields(JsonObject(results, pointer(entry.location, _RESULTS))) if results else {}
    ending = below if below and own.get("status", "ok") == "ok" else own
    if ending.get("status", "ok") == "ok":
        raise SkipEntry
    return build_measurement(entry, context, {**_run_fields(entry), **ending})


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
    batch, sequence, height, width, seconds = (text and int(text) for text in match.groups())
    return {
        "batch_size": batch,
        "sequence_length": sequence,
        "image_size": height if height == width else None,
        "audio_seconds": seconds,
    }


SWEEP_FORMAT = LegacyFormat(
    "legacy-sweep",
    _is_sweep,
    lambda value: _sweep_nodes(value, TOP, Context()),
    "a sweep that measured nothing",
)


def holds_methods(value: Any) -> bool:
    """True if it holds, for one model, the result of each method of running it."""
    if not has_map(value, "results", "metadata") or not value["results"]:
        return False
    return all(
        name.startswith(_METHODS)
        and isinstance(result, dict)
        and any(key.endswith("success") for key in result)
        for name, result in value["results"].items()
    )


def _method_nodes(value: dict[str, Any]) -> Iterator[Node]:
    about = JsonObject(value["metadata"], pointer(TOP, "metadata"))
    rest = {key: item for key, item in value.items() if key not in _PARTS}
    fields = {
        "model": about.text("model", "model_name"),
        "task": about.text("task"),
        "measured_at": about.moment("timestamp"),
    }
    details = {**about.details("metadata"), **JsonObject(rest, TOP).details()}
    context = Context(fields, details, marks_in({"metadata": about.value, **rest}, TOP))
    timings = value["performance"] if has_map(value, "performance") else {}
    for name, result in value["results"].items():
        method = next(method for method in _METHODS if name.startswith(method))
        own = {key.removeprefix(f"{method}_"): item for key, item in result.items()}
        whole = {**(timings[name] if has_map(timings, name) else {}), **own}
        yield Node(whole, pointer(TOP, "results", name), _method_result, context)


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


def _is_browser_result(value: Any) -> bool:
    return (
        is_map(value, "platform")
        and isinstance(value["platform"], str)
        and has_any(value, "status", "success")
        and has_any(value, "model_name", "model_key", "model")
        and has_any(value, *_BROWSER_KEYS)
    )


def _is_browser_list(value: Any) -> bool:
    if not is_map(value, "platform", "results") or not isinstance(value["results"], list):
        return False
    return any(map(_is_browser_result, value["results"])) or (
        not value["results"] and is_map(value, "models_tested")
    )


def _browser_nodes(value: dict[str, Any]) -> Iterator[Node]:
    whole = JsonObject(value, TOP)
    fields = {"measured_at": whole.moment("timestamp"), "backend": whole.text("platform")}
    context = Context(fields, marks=marks_in(value, TOP, without=("results",)))
    yield from whole.nodes("results", _browser_result, context)


def _browser_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    metrics = entry.inner("metrics")
    fields = {
        **status_fields(entry),
        **(metric_columns(metrics) if metrics else {}),
        "model": entry.text("model_name", "model_key", "model"),
        "backend": entry.text("platform"),
        "modality": entry.text("modality"),
        "measured_at": entry.moment("timestamp"),
    }
    inside = context.extended(details=metrics.details("metrics") if metrics else {})
    return build_measurement(entry, inside, fields)


BROWSER_FORMAT = LegacyFormat(
    "legacy-browser",
    _is_browser_result,
    lambda value: [Node(value, TOP, _browser_result)],
    "a browser's result without content",
)
BROWSER_LIST_FORMAT = LegacyFormat(
    "legacy-browsers", _is_browser_list, _browser_nodes, "a browser's tests without a result"
)


def _is_progress(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return sum(isinstance(value.get(key), list) for key in _STATUSES) >= 2


def _progress_nodes(value: Any) -> Iterator[Node]:
    whole = JsonObject(value, TOP)
    marks = marks_in(value, TOP, without=tuple(_STATUSES))
    context = Context({"measured_at": whole.moment("timestamp")}, marks=marks)
    for key, status in _STATUSES.items():
        yield from whole.nodes(key, partial(_progress_result, status), context)


def _progress_result(status: str, entry: JsonObject, context: Context) -> ImportedMeasurement:
    with_status = JsonObject({"status": status, **entry.value}, entry.location)
    entry.text("status")
    fields = {
        **status_fields(with_status),
        **metric_columns(entry),
        "model": entry.text("model", "model_name", "model_type"),
        "backend": entry.text("hardware", "hardware_type"),
        "measured_at": entry.moment("timestamp"),
    }
    return build_outcome(entry, context, fields)


PROGRESS_FORMAT = LegacyFormat(
    "legacy-progress",
    _is_progress,
    _progress_nodes,
    "the progress of a run in which nothing had ended",
)


def _suite_nodes(value: dict[str, Any]) -> Iterator[Node]:
    moment = {"measured_at": JsonObject(value, TOP).moment("timestamp")}
    context = Context(moment, marks=marks_in(value, TOP, without=(_CHECKS, _SWEEPS, "models")))
    for location, section, copies in _distinct_checks(value.get(_CHECKS)):
        inside = context.extended(details={"same_at": ", ".join(copies)} if copies else {})
        if holds_checks(section):
            yield from check_nodes(section, location, inside)
        else:
            named = inside.extended({"backend": last_key(location)})
            yield from _of_models(section, location, _names(value.get("models")), named)
    for family, section in _items(value.get(_SWEEPS)):
        location = pointer(TOP, _SWEEPS, family)
        if has_map(section, "benchmarks"):
            yield from _sweep_nodes(section, location, context)
        else:
            models = _names(value.get("models"), family) or {family: family}
            yield from _of_models(section, location, models, context.extended({"family": family}))


def _distinct_checks(sections: Any) -> Iterator[tuple[str, Any, list[str]]]:
    """Each section once, with its copies: a check without a result took the latest one."""
    items = _items(sections)
    for index, (name, section) in enumerate(items):
        if any(section == earlier for _, earlier in items[:index]):
            continue
        copies = [other for other, later in items[index + 1 :] if later == section]
        locations = [pointer(TOP, _CHECKS, other) for other in (name, *copies)]
        yield locations[0], section, locations[1:]


def _of_models(
    section: Any, location: str, models: dict[str, str], context: Context
) -> Iterator[Node]:
    for key, name in models.items():
        yield Node(section, f"{location} ({key})", _section_end, context.extended({"model": name}))


def _section_end(entry: JsonObject, context: Context) -> ImportedMeasurement:
    return build_outcome(entry, context, status_fields(entry))


def _names(models: Any, family: str | None = None) -> dict[str, str]:
    return {
        key: model["name"]
        for key, model in _items(models)
        if isinstance(model, dict)
        and isinstance(model.get("name"), str)
        and family in (None, model.get("family"))
    }


def _items(value: Any) -> list[tuple[str, Any]]:
    items = value.items() if isinstance(value, dict) else ()
    return [(key, item) for key, item in items if item is not None]


SUITE_FORMAT = LegacyFormat(
    "legacy-suite",
    lambda value: has_map(value, _CHECKS) or has_map(value, _SWEEPS),
    _suite_nodes,
    "a suite that ran nothing",
)
