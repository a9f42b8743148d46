"""Suites, their progress, and tests in browsers."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from orchestrator.exchange.imports.document import TOP, last_key, pointer
from orchestrator.exchange.imports.formats.legacy import comparison, sweep
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

_BROWSER_KEYS = ("metrics", "test_file", "reason", "platform_support", "error", "execution_time")
_STATUSES = {
    "completed_benchmarks": "completed",
    "failed_benchmarks": "failed",
    "skipped_benchmarks": "skipped",
}
_CHECKS = "functionality_verification"
_SWEEPS = "performance_benchmarks"


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
    for index, result in enumerate(value["results"]):
        yield Node(result, pointer(TOP, "results", index), _browser_result, context)


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
    details = metrics.details("metrics") if metrics else {}
    inside = Context(context.fields, details, context.marks)
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
    context = Context(
        fields={"measured_at": whole.moment("timestamp")},
        marks=marks_in(value, TOP, without=tuple(_STATUSES)),
    )
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


def _is_suite(value: Any) -> bool:
    return has_map(value, _CHECKS) or has_map(value, _SWEEPS)


def _suite_nodes(value: dict[str, Any]) -> Iterator[Node]:
    context = Context(
        fields={"measured_at": JsonObject(value, TOP).moment("timestamp")},
        marks=marks_in(value, TOP, without=(_CHECKS, _SWEEPS, "models")),
    )
    for location, section, copies in _checks(value.get(_CHECKS)):
        details = {"same_at": ", ".join(copies)} if copies else {}
        if comparison.holds_checks(section):
            inside = Context(context.fields, details, context.marks)
            yield from comparison.check_nodes(section, location, inside)
        else:
            fields = {**context.fields, "backend": last_key(location)}
            models = _names(value.get("models"))
            yield from _of_models(
                section, location, models, Context(fields, details, context.marks)
            )
    for family, section in _items(value.get(_SWEEPS)):
        location = pointer(TOP, _SWEEPS, family)
        if has_map(section, "benchmarks"):
            yield from sweep.sweep_nodes(section, location, context)
        else:
            fields = {**context.fields, "family": family}
            models = _names(value.get("models"), family) or {family: family}
            yield from _of_models(section, location, models, Context(fields, {}, context.marks))


def _checks(sections: Any) -> Iterator[tuple[str, Any, list[str]]]:
    """Each section once, with the locations of its copies.

    Where a check left no result of its own, the suite took the latest one that it found.
    """
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
    """The end of a section without results, once for each model that it was for."""
    for key, name in models.items():
        inside = Context({**context.fields, "model": name}, context.details, context.marks)
        yield Node(section, f"{location} ({key})", _end, inside)


def _end(entry: JsonObject, context: Context) -> ImportedMeasurement:
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


SUITE_FORMAT = LegacyFormat("legacy-suite", _is_suite, _suite_nodes, "a suite that ran nothing")
