"""A comparison of browser platforms: for each modality a list of models, each on each platform."""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.formats.legacy.build import each, found
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.outcome import ended
from orchestrator.imports.formats.legacy.shape import Shape, has_map, is_map
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import WHOLE, last, under
from orchestrator.imports.reading import Reading

_LISTS = "results_by_modality"
_TYPES = "implementation_types"
_NOTE = "of which kind is not said, kept as the mean"


def _matches(value: Any) -> bool:
    if not has_map(value, _LISTS):
        return False
    rows = [row for _, rows in value[_LISTS].items() if isinstance(rows, list) for row in rows]
    return all(is_map(row, "model") for row in rows)


def _spots(value: dict[str, Any]) -> Iterator[Spot]:
    whole = Entry(value, WHOLE)
    fields = {"measured_at": whole.moment("timestamp")}
    surroundings = Entry({"test_environment": whole.seen("test_environment")}, WHOLE).details()
    marks = marks_in(value, WHOLE, without=(_LISTS, _TYPES))
    for modality, rows in value[_LISTS].items():
        around = Around({**fields, "modality": modality}, surroundings, marks)
        for index, row in enumerate(rows if isinstance(rows, list) else ()):
            yield from _of_model(row, under(WHOLE, _LISTS, modality, index), around, value)


def _of_model(
    row: dict[str, Any], place: str, around: Around, value: dict[str, Any]
) -> Iterator[Spot]:
    model = Entry(row, place).text("model")
    for platform, told in row.items():
        if isinstance(told, dict):
            marks = (*around.marks, *_type_marks(value, around.fields["modality"], platform))
            fields = {**around.fields, "model": model}
            inside = Around(fields, around.details, marks)
            yield Spot(told, under(place, platform), _result, inside)


def _type_marks(value: dict[str, Any], modality: str, platform: str) -> tuple[str, ...]:
    """What the file says elsewhere of all models of a modality on a platform."""
    types = value[_TYPES].get(modality) if has_map(value, _TYPES) else None
    told = types.get(platform) if isinstance(types, dict) else None
    return marks_in({platform: told}, under(WHOLE, _TYPES, modality))


def _result(entry: Entry, around: Around) -> Found:
    fields = {
        **ended(entry),
        "backend": last(entry.place),
        "latency_mean_s": entry.number("time_ms", "latency_mean_s", "ms"),
    }
    if fields["latency_mean_s"] is not None:
        entry.note("time_ms", _NOTE)
    return found(entry, around, fields, marks_in(entry.value, entry.place))


def _read(value: Any) -> Reading:
    return each(_spots(value), "a comparison of platforms without a model")


COMPARISON = Shape("legacy-comparison", _matches, _read)
