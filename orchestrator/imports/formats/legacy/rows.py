"""Results, one for each model, hardware and batch size: a list, a list with a head, or one."""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.formats.legacy.build import each, found
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.metrics import columns_of, has_metric
from orchestrator.imports.formats.legacy.outcome import ended
from orchestrator.imports.formats.legacy.shape import Shape, has_any
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import WHOLE, under
from orchestrator.imports.reading import Reading

_LISTS = ("results", "benchmark_results", "benchmarks", "data")
_MODES = ("inference", "generation", "training", "startup")


def _matches(value: Any) -> bool:
    rows = value if isinstance(value, list) else [value] if _is_row(value) else _listed(value)[1]
    return any(_is_row(item) for item in rows)


def _listed(value: Any) -> tuple[str, list[Any]]:
    """The list of rows in an object, and the key under which it stands."""
    for key in _LISTS if isinstance(value, dict) else ():
        if isinstance(value.get(key), list):
            return key, value[key]
    return "", []


def _is_row(value: Any) -> bool:
    return (
        has_any(value, "model_name", "model_key", "model")
        and has_any(value, "hardware_type", "hardware")
        and has_metric(value)
    )


def _spots(value: Any) -> Iterator[Spot]:
    if isinstance(value, list):
        yield from (Spot(row, under(WHOLE, index), _result) for index, row in enumerate(value))
    elif _is_row(value):
        yield Spot(value, WHOLE, _result)
    else:
        key, rows = _listed(value)
        whole = Entry({name: item for name, item in value.items() if name != key}, WHOLE)
        fields = {"measured_at": whole.moment("timestamp", "created_at")}
        around = Around(fields, whole.details(), marks_in(whole.value, WHOLE))
        for index, row in enumerate(rows):
            yield Spot(row, under(WHOLE, key, index), _result, around)


def _result(entry: Entry, around: Around) -> Found:
    metrics = entry.inner("metrics")
    case = entry.seen("test_case")
    fields = {
        **ended(entry),
        **columns_of(entry),
        "model": entry.text("model_name", "model", "model_key"),
        "family": entry.text("model_family", "family"),
        "modality": entry.text("modality"),
        "backend": entry.text("hardware_type", "hardware"),
        "mode": case if case in _MODES else None,
        "measured_at": entry.moment("timestamp", "created_at"),
    }
    details = {**around.details, **(metrics.details("metrics") if metrics else {})}
    inside = Around(around.fields, details, around.marks)
    return found(entry, inside, fields, marks_in(entry.value, entry.place))


def _read(value: Any) -> Reading:
    return each(_spots(value), "a list without results")


ROWS = Shape("legacy-rows", _matches, _read)
