"""One model on one device, a result for each batch size, with raw latencies."""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.formats.legacy.build import each, found
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.metrics import columns_of
from orchestrator.imports.formats.legacy.outcome import ended
from orchestrator.imports.formats.legacy.shape import Shape, has_map, is_map
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import WHOLE
from orchestrator.imports.reading import Reading


def spots_of(value: Any, place: str, around: Around) -> Iterator[Spot]:
    """The results of one model; the failure itself if it has none.

    Raises:
        NotReadable: it is no object.
    """
    whole = Entry(value, place)
    inside = Around(
        fields={
            **around.fields,
            "model": whole.text("model"),
            "backend": whole.text("hardware") or around.fields.get("backend"),
            "measured_at": whole.moment("timestamp"),
        },
        details=around.details,
        marks=(*around.marks, *marks_in(value, place, without=("batch_results",))),
    )
    results = list(whole.spots("batch_results", result, inside))
    if not results and ended(Entry(value, place)).get("status", "ok") != "ok":
        yield Spot(value, place, result, inside)
    yield from results


def result(entry: Entry, around: Around) -> Found:
    """The result at one batch size.

    Raises:
        NotReadable: a value is none that a measurement can have.
    """
    columns = columns_of(entry)
    backend = _where(around.fields["backend"], entry.seen("device"))
    fields = {
        **ended(entry),
        **columns,
        "backend": backend,
        "batch_size": columns["batch_size"] or _batch_size(entry),
        "measured_at": entry.moment("timestamp"),
        "runtime": "torch",
        "mode": "inference",
        "durations_ns": entry.durations("latencies_ms", "ms"),
    }
    if backend == "cpu" and entry.seen("memory_mb"):
        fields["memory_average_bytes"] = entry.number("memory_mb", "memory_average_bytes", "MiB")
        entry.note("memory_mb", "mean resident memory; MB are 1024 × 1024 bytes")
    asked = around.fields["backend"]
    if asked and backend != asked:
        around = Around(around.fields, {**around.details, "hardware": asked}, around.marks)
    return found(entry, around, fields, marks_in(entry.value, entry.place))


def _where(hardware: str | None, device: Any) -> str | None:
    """Where it ran: this writer falls back to the CPU without a word, and only `device` tells."""
    return "cpu" if device == "cpu" else hardware


def _batch_size(entry: Entry) -> int | None:
    return int(entry.name) if entry.name.isascii() and entry.name.isdigit() else None


def _matches(value: Any) -> bool:
    if has_map(value, "batch_results"):
        return is_map(value, "model")
    return is_map(value, "model", "hardware", "success", "error") and not value["success"]


def _read(value: Any) -> Reading:
    return each(spots_of(value, WHOLE, Around()), "a direct benchmark that measured nothing")


DIRECT = Shape("legacy-direct", _matches, _read)
