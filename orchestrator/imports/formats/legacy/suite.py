"""A suite: checks of models on each kind of hardware, then a sweep of each family."""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.formats.legacy import functionality, sweep
from orchestrator.imports.formats.legacy.build import each, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.outcome import ended
from orchestrator.imports.formats.legacy.shape import Shape, has_map
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import WHOLE, last, under
from orchestrator.imports.reading import Reading

_CHECKS = "functionality_verification"
_SWEEPS = "performance_benchmarks"


def _matches(value: Any) -> bool:
    return has_map(value, _CHECKS) or has_map(value, _SWEEPS)


def _spots(value: dict[str, Any]) -> Iterator[Spot]:
    around = Around(
        fields={"measured_at": Entry(value, WHOLE).moment("timestamp")},
        marks=marks_in(value, WHOLE, without=(_CHECKS, _SWEEPS, "models")),
    )
    for place, section, copies in _checks(value.get(_CHECKS)):
        details = {"same_at": ", ".join(copies)} if copies else {}
        if functionality.matches(section):
            inside = Around(around.fields, details, around.marks)
            yield from functionality.spots_of(section, place, inside)
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


def _read(value: Any) -> Reading:
    return each(_spots(value), "a suite that ran nothing")


SUITE = Shape("legacy-suite", _matches, _read)
