"""One model on one kind of hardware: a few rounded numbers for each batch size."""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.formats.legacy.build import each, found, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.metrics import columns_of
from orchestrator.imports.formats.legacy.outcome import ended
from orchestrator.imports.formats.legacy.shape import Shape, has_any, has_map
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import WHOLE
from orchestrator.imports.reading import Reading


def _matches(value: Any) -> bool:
    return (
        has_map(value, "batch_sizes")
        and has_any(value, "model", "model_path", "model_key")
        and has_any(value, "hardware", "hardware_key")
    )


def _spots(value: Any) -> Iterator[Spot]:
    whole = Entry(value, WHOLE)
    fields = {
        "model": whole.text("model_path", "model", "model_key"),
        "backend": whole.text("hardware_key", "hardware"),
        "family": whole.text("model_category"),
        "measured_at": whole.moment("timestamp"),
    }
    marks = marks_in(value, WHOLE, without=("batch_sizes",))
    results = list(whole.spots("batch_sizes", _result, Around(fields, {}, marks)))
    around = Around(fields, whole.details(), marks)
    if not results and whole.seen("compatible") is False:
        yield Spot(value, WHOLE, _incompatible, around)
    yield from (Spot(spot.value, spot.place, _result, around) for spot in results)


def _result(entry: Entry, around: Around) -> Found:
    columns = columns_of(entry)
    named = int(entry.name) if entry.name.isascii() and entry.name.isdigit() else None
    fields = {
        **ended(entry),
        **columns,
        "batch_size": columns["batch_size"] or named,
        "measured_at": entry.moment("timestamp"),
    }
    return found(entry, around, fields, marks_in(entry.value, entry.place))


def _incompatible(entry: Entry, around: Around) -> Found:
    return verdict(Entry({}, entry.place), around, ended(entry))


def _read(value: Any) -> Reading:
    return each(_spots(value), "a benchmark of a model for which no batch size was measured")


BY_BATCH_SIZE = Shape("legacy-by-batch-size", _matches, _read)
