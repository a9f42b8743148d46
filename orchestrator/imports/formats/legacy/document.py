"""A summary of a sweep: for each family and hardware, means in the order of the models.

They are means over all batch sizes and input sizes, so they stay in the details.
"""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.document import WHOLE, last, under
from orchestrator.imports.formats.base import NotReadable, Reading
from orchestrator.imports.formats.legacy.build import each, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.machine import machine_of
from orchestrator.imports.formats.legacy.rows import (
    Shape,
    has_map,
    has_metric,
    is_map,
    without_remarks,
)
from orchestrator.imports.marks import marks_in
from orchestrator.imports.measurement import Found

_RESULTS = "hardware_results"
_MEANS = ("latency_ms", "throughput")


def _matches(value: Any) -> bool:
    if not has_map(value, "model_families"):
        return False
    return any(has_map(family, _RESULTS) for family in value["model_families"].values())


def _spots(value: dict[str, Any]) -> Iterator[Spot]:
    whole = Entry(value, WHOLE)
    machine = machine_of(whole)
    fields = {**machine.fields, "measured_at": whole.moment("timestamp")}
    marks = marks_in(value, WHOLE, without=("model_families",))
    around = Around(fields, {**machine.details, "means": "over the shapes of a sweep"}, marks)
    for family in whole.spots("model_families", _result, around):
        if has_map(family.value, _RESULTS):
            yield from _of_family(family)
        else:
            yield family


def _of_family(family: Spot) -> Iterator[Spot]:
    fields = {**family.around.fields, "family": last(family.place)}
    around = Around(fields, family.around.details, family.around.marks)
    models = family.value.get("models_tested")
    for hardware in Entry(family.value, family.place).spots(_RESULTS, _result, around):
        yield from _of_hardware(hardware, models if isinstance(models, list) else [])


def _of_hardware(hardware: Spot, models: list[Any]) -> Iterator[Spot]:
    columns = {
        key: item
        for key, item in (hardware.value if isinstance(hardware.value, dict) else {}).items()
        if isinstance(item, list)
    }
    if columns and not any(columns.values()):
        return
    if not columns or any(len(column) != len(models) for column in columns.values()):
        yield Spot(hardware.value, hardware.place, _unnamed, hardware.around)
        return
    fields = {**hardware.around.fields, "backend": last(hardware.place)}
    around = Around(fields, hardware.around.details, hardware.around.marks)
    for index, model in enumerate(models):
        value = {key: column[index] for key, column in columns.items()} | {"model": model}
        place = under(hardware.place, next(iter(columns)), index)
        yield Spot(value, place, _result, around)


def _result(entry: Entry, around: Around) -> Found:
    entry.checked(*_MEANS)
    fields = {"status": "ok", "model": entry.text("model")}
    return verdict(entry, around, fields, marks_in(entry.value, entry.place))


def _unnamed(entry: Entry, _: Around) -> Found:
    raise NotReadable(f"{entry.place}: its lists are not as long as `models_tested`")


def _read(value: Any) -> Reading:
    return each(_spots(value), "a summary without results")


DIGEST = Shape("legacy-summary", _matches, _read)


_OF_A_MODEL = ("family", "modality", "size", "class")
_SUMMARISED = ("inference", "training", "hardware_compatibility")


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


MODELS = Shape("legacy-models", _is_models, lambda _: Reading(nothing="a list of models"))
SETTINGS = Shape("legacy-settings", _is_settings, lambda _: Reading(nothing="settings of a run"))
EMPTY_SUMMARY = Shape(
    "legacy-summary",
    _is_empty_summary,
    lambda _: Reading(nothing="a summary of benchmarks without a result"),
)
DATABASE = Shape(
    "legacy-database", _is_database, lambda _: Reading(nothing="a description of a database")
)
