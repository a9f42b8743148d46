"""Verdicts: whether a model's check ran to its end on a kind of hardware; no timing."""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.formats.legacy.build import each, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.outcome import ended
from orchestrator.imports.formats.legacy.shape import Shape, has_map, is_map, is_map_of_maps
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import WHOLE, last, under
from orchestrator.imports.reading import NotReadable, Reading
from orchestrator.matrix.problems import shown

_ENTRIES = ("detailed_results", "model_results")


def matches(value: Any) -> bool:
    """Whether it holds verdicts, each by itself or as a table of models and hardware."""
    if not isinstance(value, dict):
        return False
    detailed = value.get("detailed_results")
    if isinstance(detailed, list) and any(is_map(item, "success") for item in detailed):
        return True
    return has_map(value, "model_results") and (
        has_map(value, "stats") or is_map_of_maps(value["model_results"])
    )


def spots_of(value: dict[str, Any], place: str, around: Around) -> Iterator[Spot]:
    """The detailed verdicts, and those that stand in the table alone."""
    stats = value.get("stats")
    when = Entry(stats, place).moment("timestamp") if isinstance(stats, dict) else None
    marks = (*around.marks, *marks_in(value, place, without=_ENTRIES))
    inside = Around({**around.fields, "measured_at": when}, around.details, marks)
    detailed = list(Entry(value, place).spots("detailed_results", _detailed, inside))
    told = {(_text(spot.value, "model"), _text(spot.value, "hardware")) for spot in detailed}
    yield from detailed
    for row in Entry(value, place).spots("model_results", _detailed, inside):
        yield from _of_table(row, told)


def _of_table(row: Spot, told: set[tuple[Any, Any]]) -> Iterator[Spot]:
    if not isinstance(row.value, dict):
        yield row
        return
    model = last(row.place)
    if {"status", "return_code"} & row.value.keys():
        yield Spot({"model": model, **row.value}, row.place, _detailed, row.around)
        return
    for hardware, well in row.value.items():
        if (model, hardware) not in told and well is not None:
            value = {"model": model, "hardware": hardware, "success": well}
            yield Spot(value, under(row.place, hardware), _in_table, row.around)


def _detailed(entry: Entry, around: Around) -> Found:
    fields = {
        **ended(entry),
        "model": entry.text("model", "model_name"),
        "backend": entry.text("hardware"),
        "measured_at": entry.moment("timestamp"),
    }
    return verdict(entry, around, fields, marks_in(entry.value, entry.place))


def _in_table(entry: Entry, around: Around) -> Found:
    if not isinstance(entry.seen("success"), bool):
        told = shown(entry.seen("success"))
        raise NotReadable(f"{entry.place}: {told} is neither true nor false")
    return _detailed(entry, around)


def _text(value: Any, key: str) -> str | None:
    text = value.get(key) if isinstance(value, dict) else None
    return text if isinstance(text, str) else None


def _read(value: Any) -> Reading:
    return each(spots_of(value, WHOLE, Around()), "a check of models that checked none")


FUNCTIONALITY = Shape("legacy-functionality", matches, _read)
