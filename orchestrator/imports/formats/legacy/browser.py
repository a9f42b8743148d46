"""Models in a browser: one in a file, or a list of them."""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.formats.legacy.build import each, found
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.metrics import columns_of
from orchestrator.imports.formats.legacy.outcome import ended
from orchestrator.imports.formats.legacy.shape import Shape, has_any, is_map
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import WHOLE, under
from orchestrator.imports.reading import Reading

_TOLD = ("metrics", "test_file", "reason", "platform_support", "error", "execution_time")


def _matches(value: Any) -> bool:
    return (
        is_map(value, "platform")
        and isinstance(value["platform"], str)
        and has_any(value, "status", "success")
        and has_any(value, "model_name", "model_key", "model")
        and has_any(value, *_TOLD)
    )


def _is_list(value: Any) -> bool:
    if not is_map(value, "platform", "results") or not isinstance(value["results"], list):
        return False
    return any(map(_matches, value["results"])) or (
        not value["results"] and is_map(value, "models_tested")
    )


def _spots(value: dict[str, Any]) -> Iterator[Spot]:
    whole = Entry(value, WHOLE)
    fields = {"measured_at": whole.moment("timestamp"), "backend": whole.text("platform")}
    around = Around(fields, marks=marks_in(value, WHOLE, without=("results",)))
    for index, result in enumerate(value["results"]):
        yield Spot(result, under(WHOLE, "results", index), _result, around)


def _result(entry: Entry, around: Around) -> Found:
    metrics = entry.inner("metrics")
    fields = {
        **ended(entry),
        **(columns_of(metrics) if metrics else {}),
        "model": entry.text("model_name", "model_key", "model"),
        "backend": entry.text("platform"),
        "modality": entry.text("modality"),
        "measured_at": entry.moment("timestamp"),
    }
    details = metrics.details("metrics") if metrics else {}
    inside = Around(around.fields, details, around.marks)
    return found(entry, inside, fields, marks_in(entry.value, entry.place))


def _read(value: Any) -> Reading:
    return each([Spot(value, WHOLE, _result)], "a browser's result without content")


def _read_all(value: Any) -> Reading:
    return each(_spots(value), "a browser's tests without a result")


BROWSER = Shape("legacy-browser", _matches, _read)
BROWSERS = Shape("legacy-browsers", _is_list, _read_all)
