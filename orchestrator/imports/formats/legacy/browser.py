"""One model in a browser."""

from typing import Any

from orchestrator.imports.formats.legacy.build import each, found
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.marks import marks_in
from orchestrator.imports.formats.legacy.metrics import columns_of
from orchestrator.imports.formats.legacy.outcome import ended
from orchestrator.imports.formats.legacy.pointer import WHOLE
from orchestrator.imports.formats.legacy.shape import Shape, has_any, is_map
from orchestrator.imports.found import Found
from orchestrator.imports.reading import Reading


def _matches(value: Any) -> bool:
    return (
        is_map(value, "platform", "status")
        and isinstance(value["platform"], str)
        and has_any(value, "model_name", "model_key")
        and has_any(value, "metrics", "test_file", "reason", "platform_support")
    )


def _result(entry: Entry, around: Around) -> Found:
    metrics = entry.inner("metrics")
    fields = {
        **ended(entry),
        **(columns_of(metrics) if metrics else {}),
        "model": entry.text("model_name", "model_key"),
        "backend": entry.text("platform"),
        "modality": entry.text("modality"),
        "measured_at": entry.moment("timestamp"),
    }
    details = metrics.details("metrics") if metrics else {}
    return found(entry, Around(around.fields, details), fields, marks_in(entry.value, entry.place))


def _read(value: Any) -> Reading:
    return each([Spot(value, WHOLE, _result)], "a browser's result without content")


BROWSER = Shape("legacy-browser", _matches, _read)
