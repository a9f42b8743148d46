"""One model tried in several ways: by a pipeline, by its classes, by OpenVINO, on each device.

Its writer takes times with `time.time()`, so a time whose name tells no unit is in seconds.
"""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.formats.legacy.build import each, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.outcome import ended
from orchestrator.imports.formats.legacy.shape import Shape, has_map
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import WHOLE, under
from orchestrator.imports.reading import Reading

_METHODS = ("pipeline", "from_pretrained", "openvino")
_ENDS = ("success", "error", "traceback", "error_type")
_TIMES = {"avg_time": "latency_mean_s", "min_time": "latency_min_s", "max_time": "latency_max_s"}
_PARTS = ("results", "performance", "metadata", "examples")


def matches(value: Any) -> bool:
    """Whether it tells of a model how each method of running it ended."""
    if not has_map(value, "results", "metadata") or not value["results"]:
        return False
    return all(
        _method(name) and isinstance(told, dict) and any(key.endswith("success") for key in told)
        for name, told in value["results"].items()
    )


def _spots(value: dict[str, Any]) -> Iterator[Spot]:
    about = Entry(value["metadata"], under(WHOLE, "metadata"))
    rest = {key: item for key, item in value.items() if key not in _PARTS}
    around = Around(
        {
            "model": about.text("model", "model_name"),
            "task": about.text("task"),
            "measured_at": about.moment("timestamp"),
        },
        {**about.details("metadata"), **Entry(rest, WHOLE).details()},
        marks_in({"metadata": about.value, **rest}, WHOLE),
    )
    timings = value["performance"] if has_map(value, "performance") else {}
    for name, told in value["results"].items():
        timed = timings.get(name)
        whole = {**(timed if isinstance(timed, dict) else {}), **_plain(told, _method(name))}
        yield Spot(whole, under(WHOLE, "results", name), _result, around)


def _method(name: str) -> str:
    """The method that a result's name begins with."""
    return next((method for method in _METHODS if name.startswith(method)), "")


def _plain(told: dict[str, Any], method: str) -> dict[str, Any]:
    """A result without the method's name in its keys."""
    return {key.removeprefix(f"{method}_"): item for key, item in told.items()}


def _result(entry: Entry, around: Around) -> Found:
    told = {key: entry.value[key] for key in _ENDS if entry.value.get(key) not in (None, "none")}
    fields: dict[str, Any] = {
        **ended(Entry(told, entry.place)),
        **{column: entry.number(key, column) for key, column in _TIMES.items()},
        "model": entry.text("model"),
        "task": entry.text("task"),
        "backend": entry.text("device"),
        "iterations": entry.count("num_runs"),
        "load_time_s": entry.number("model_load_time", "load_time_s"),
    }
    if fields["load_time_s"] is None:
        fields["load_time_s"] = entry.number("load_time", "load_time_s")
    return verdict(entry, around, fields, marks_in(entry.value, entry.place))


def _read(value: Any) -> Reading:
    return each(_spots(value), "a model that was tried in no way")


METHODS = Shape("legacy-methods", matches, _read)
