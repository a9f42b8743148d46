"""A list of results, one for each model, hardware and batch size."""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.formats.legacy.build import each, found
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.marks import marks_in
from orchestrator.imports.formats.legacy.metrics import columns_of, has_metric
from orchestrator.imports.formats.legacy.outcome import ended
from orchestrator.imports.formats.legacy.pointer import WHOLE, under
from orchestrator.imports.formats.legacy.shape import Shape, has_any
from orchestrator.imports.found import Found
from orchestrator.imports.reading import Reading

_MODES = ("inference", "generation", "training", "startup")


def _matches(value: Any) -> bool:
    return isinstance(value, list) and any(_is_row(item) for item in value)


def _is_row(value: Any) -> bool:
    return (
        has_any(value, "model_name", "model_key", "model")
        and has_any(value, "hardware_type", "hardware")
        and has_metric(value)
    )


def _spots(value: Any) -> Iterator[Spot]:
    for index, row in enumerate(value):
        yield Spot(row, under(WHOLE, index), _result)


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
    details = metrics.details("metrics") if metrics else {}
    return found(entry, Around(around.fields, details), fields, marks_in(entry.value, entry.place))


def _read(value: Any) -> Reading:
    return each(_spots(value), "a list without results")


ROWS = Shape("legacy-rows", _matches, _read)
