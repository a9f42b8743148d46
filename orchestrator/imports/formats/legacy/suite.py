"""Models in a browser: one in a file, or a list of them."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from orchestrator.imports.document import WHOLE, last, under
from orchestrator.imports.formats.base import Reading
from orchestrator.imports.formats.legacy import comparison, sweep
from orchestrator.imports.formats.legacy.build import each, ended, found, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.rows import Shape, columns_of, has_any, has_map, is_map
from orchestrator.imports.marks import marks_in
from orchestrator.imports.measurement import Found

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


_STATUSES = {
    "completed_benchmarks": "completed",
    "failed_benchmarks": "failed",
    "skipped_benchmarks": "skipped",
}


def _matches_progress(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return sum(isinstance(value.get(key), list) for key in _STATUSES) >= 2


def _spots_progress(value: Any) -> Iterator[Spot]:
    whole = Entry(value, WHOLE)
    around = Around(
        fields={"measured_at": whole.moment("timestamp")},
        marks=marks_in(value, WHOLE, without=tuple(_STATUSES)),
    )
    for key, status in _STATUSES.items():
        yield from whole.spots(key, partial(_result_progress, status), around)


def _result_progress(status: str, entry: Entry, around: Around) -> Found:
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


def _read_progress(value: Any) -> Reading:
    return each(_spots_progress(value), "the progress of a run in which nothing had ended")


PROGRESS = Shape("legacy-progress", _matches_progress, _read_progress)


_CHECKS = "functionality_verification"
_SWEEPS = "performance_benchmarks"


def _matches_suite(value: Any) -> bool:
    return has_map(value, _CHECKS) or has_map(value, _SWEEPS)


def _spots_suite(value: dict[str, Any]) -> Iterator[Spot]:
    around = Around(
        fields={"measured_at": Entry(value, WHOLE).moment("timestamp")},
        marks=marks_in(value, WHOLE, without=(_CHECKS, _SWEEPS, "models")),
    )
    for place, section, copies in _checks(value.get(_CHECKS)):
        details = {"same_at": ", ".join(copies)} if copies else {}
        if comparison.matches(section):
            inside = Around(around.fields, details, around.marks)
            yield from comparison.spots_of(section, place, inside)
        else:
            fields = {**around.fields, "backend": last(place)}
            models = _names(value.get("models"))
            yield from _of_models(section, place, models, Around(fields, details, around.marks))
    for family, section in _items(value.get(_SWEEPS)):
        place = under(WHOLE, _SWEEPS, family)
        if has_map(section, "benchmarks"):
            yield from sweep.spots_of(section, place, around)
        else:
            fields = {**around.fields, "family": family}
            models = _names(value.get("models"), family) or {family: family}
            yield from _of_models(section, place, models, Around(fields, {}, around.marks))


def _checks(sections: Any) -> Iterator[tuple[str, Any, list[str]]]:
    """Each section once, with the places of its copies.

    Where a check left no result of its own, the suite took the latest one that it found.
    """
    items = _items(sections)
    for index, (name, section) in enumerate(items):
        if any(section == earlier for _, earlier in items[:index]):
            continue
        copies = [other for other, later in items[index + 1 :] if later == section]
        places = [under(WHOLE, _CHECKS, other) for other in (name, *copies)]
        yield places[0], section, places[1:]


def _of_models(section: Any, place: str, models: dict[str, str], around: Around) -> Iterator[Spot]:
    """How a section ended that has no results, told of each model that it was for."""
    for key, name in models.items():
        inside = Around({**around.fields, "model": name}, around.details, around.marks)
        yield Spot(section, f"{place} ({key})", _end, inside)


def _end(entry: Entry, around: Around) -> Found:
    return verdict(entry, around, ended(entry), marks_in(entry.value, entry.place))


def _names(models: Any, family: str | None = None) -> dict[str, str]:
    return {
        key: model["name"]
        for key, model in _items(models)
        if isinstance(model, dict)
        and isinstance(model.get("name"), str)
        and family in (None, model.get("family"))
    }


def _items(value: Any) -> list[tuple[str, Any]]:
    items = value.items() if isinstance(value, dict) else ()
    return [(key, item) for key, item in items if item is not None]


def _read_suite(value: Any) -> Reading:
    return each(_spots_suite(value), "a suite that ran nothing")


SUITE = Shape("legacy-suite", _matches_suite, _read_suite)
