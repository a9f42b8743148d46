"""A summary of a sweep: for each family and hardware, means in the order of the models.

They are means over all batch sizes and input sizes, so they stay in the details.
"""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.formats.legacy.build import each, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.machine import machine_of
from orchestrator.imports.formats.legacy.shape import Shape, has_map
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import WHOLE, last, under
from orchestrator.imports.reading import NotReadable, Reading

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
