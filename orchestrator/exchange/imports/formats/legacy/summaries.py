"""Summaries of sweeps, and files without measurements: models, settings, databases.

A summary holds, for each family and hardware, means in the order of the models.
They are means over all batch sizes and input sizes, so they stay in the details.
"""

from collections.abc import Iterator
from typing import Any

from orchestrator.exchange.imports.document import TOP, last_key, pointer
from orchestrator.exchange.imports.formats.legacy.json_object import Context, JsonObject, Node
from orchestrator.exchange.imports.formats.legacy.machine import machine_of
from orchestrator.exchange.imports.formats.legacy.measurement import build_outcome
from orchestrator.exchange.imports.formats.legacy.rows import (
    LegacyFormat,
    has_map,
    has_metric,
    is_map,
    without_remarks,
)
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.simulation_marks import marks_in
from runner.contract.errors import SkipEntry

_RESULTS = "hardware_results"
_MEANS = ("latency_ms", "throughput")
_OF_A_MODEL = ("family", "modality", "size", "class")
_SUMMARISED = ("inference", "training", "hardware_compatibility")


def _is_summary(value: Any) -> bool:
    if not has_map(value, "model_families"):
        return False
    return any(has_map(family, _RESULTS) for family in value["model_families"].values())


def _summary_nodes(value: dict[str, Any]) -> Iterator[Node]:
    whole = JsonObject(value, TOP)
    machine = machine_of(whole)
    fields = {**machine.fields, "measured_at": whole.moment("timestamp")}
    marks = marks_in(value, TOP, without=("model_families",))
    context = Context(fields, {**machine.details, "means": "over the shapes of a sweep"}, marks)
    for family in whole.nodes("model_families", _summary_result, context):
        if has_map(family.value, _RESULTS):
            yield from _of_family(family)
        else:
            yield family


def _of_family(family: Node) -> Iterator[Node]:
    fields = {**family.context.fields, "family": last_key(family.location)}
    context = Context(fields, family.context.details, family.context.marks)
    models = family.value.get("models_tested")
    for hardware in JsonObject(family.value, family.location).nodes(
        _RESULTS, _summary_result, context
    ):
        yield from _of_hardware(hardware, models if isinstance(models, list) else [])


def _of_hardware(hardware: Node, models: list[Any]) -> Iterator[Node]:
    columns = {
        key: item
        for key, item in (hardware.value if isinstance(hardware.value, dict) else {}).items()
        if isinstance(item, list)
    }
    if columns and not any(columns.values()):
        return
    if not columns or any(len(column) != len(models) for column in columns.values()):
        yield Node(hardware.value, hardware.location, _unnamed, hardware.context)
        return
    fields = {**hardware.context.fields, "backend": last_key(hardware.location)}
    context = Context(fields, hardware.context.details, hardware.context.marks)
    for index, model in enumerate(models):
        value = {key: column[index] for key, column in columns.items()} | {"model": model}
        location = pointer(hardware.location, next(iter(columns)), index)
        yield Node(value, location, _summary_result, context)


def _summary_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    entry.check_numbers(*_MEANS)
    fields = {"status": "ok", "model": entry.text("model")}
    return build_outcome(entry, context, fields)


def _unnamed(entry: JsonObject, _: Context) -> ImportedMeasurement:
    raise SkipEntry(f"{entry.location}: its lists are not as long as `models_tested`")


SUMMARY_FORMAT = LegacyFormat(
    "legacy-summary", _is_summary, _summary_nodes, "a summary without results"
)


def _is_models(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    models = without_remarks(value)
    return bool(models) and all(map(_is_model, models.values()))


def _is_model(item: Any) -> bool:
    return is_map(item, "name") and any(key in item for key in _OF_A_MODEL) and not has_metric(item)


def _is_empty_summary(value: Any) -> bool:
    return has_map(value, *_SUMMARISED) and not any(value[key] for key in _SUMMARISED)


def _is_settings(value: Any) -> bool:
    return (
        is_map(value, "hardware_types", "batch_sizes")
        and isinstance(value["batch_sizes"], list | str)
        and (is_map(value, "model_families") or is_map(value, "models"))
        and "results" not in value
    )


def _is_database(value: Any) -> bool:
    return is_map(value, "schema_version") and has_map(value, "schema")


MODELS_FORMAT = LegacyFormat("legacy-models", _is_models, lambda _: (), "a list of models")
SETTINGS_FORMAT = LegacyFormat("legacy-settings", _is_settings, lambda _: (), "settings of a run")
EMPTY_SUMMARY_FORMAT = LegacyFormat(
    "legacy-summary",
    _is_empty_summary,
    lambda _: (),
    "a summary of benchmarks without a result",
)
DATABASE_FORMAT = LegacyFormat(
    "legacy-database", _is_database, lambda _: (), "a description of a database"
)
