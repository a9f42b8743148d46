"""Progress of a run of benchmarks: which of them completed, failed or were skipped."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from orchestrator.imports.formats.legacy.build import each, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.metrics import columns_of
from orchestrator.imports.formats.legacy.outcome import ended
from orchestrator.imports.formats.legacy.shape import Shape
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import WHOLE
from orchestrator.imports.reading import Reading

_STATUSES = {
    "completed_benchmarks": "completed",
    "failed_benchmarks": "failed",
    "skipped_benchmarks": "skipped",
}


def _matches(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return sum(isinstance(value.get(key), list) for key in _STATUSES) >= 2


def _spots(value: Any) -> Iterator[Spot]:
    whole = Entry(value, WHOLE)
    around = Around(
        fields={"measured_at": whole.moment("timestamp")},
        marks=marks_in(value, WHOLE, without=tuple(_STATUSES)),
    )
    for key, status in _STATUSES.items():
        yield from whole.spots(key, partial(_result, status), around)


def _result(status: str, entry: Entry, around: Around) -> Found:
    told = Entry({"status": status, **entry.value}, entry.place)
    entry.text("status")
    fields = {
        **ended(told),
        **columns_of(entry),
        "model": entry.text("model", "model_name", "model_type"),
        "backend": entry.text("hardware", "hardware_type"),
        "measured_at": entry.moment("timestamp"),
    }
    return verdict(entry, around, fields, marks_in(entry.value, entry.place))


def _read(value: Any) -> Reading:
    return each(_spots(value), "the progress of a run in which nothing had ended")


PROGRESS = Shape("legacy-progress", _matches, _read)
