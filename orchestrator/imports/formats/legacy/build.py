"""Entries become measurements, each for itself: a broken one doesn't take the others along."""

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from orchestrator.imports.entry import MEASURED
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.found import Found
from orchestrator.imports.reading import NotReadable, Reading
from orchestrator.matrix.problems import wordings

_SHOWN = 3


class Empty(Exception):
    """An entry holds no measured value, and doesn't say that it failed."""


def found(
    entry: Entry, around: Around, fields: dict[str, Any], marks: tuple[str, ...] = ()
) -> Found:
    """The measurement: the entry's own columns before those around it, and what is left.

    Raises:
        NotReadable: a column can't hold its value.
        Empty: it ended well, as far as it says, without a measured value.
    """
    measured = verdict(entry, around, {"status": "ok", **fields}, marks)
    if measured.status == "ok" and all(getattr(measured, name) is None for name in MEASURED):
        raise Empty
    return measured


def verdict(
    entry: Entry, around: Around, fields: dict[str, Any], marks: tuple[str, ...] = ()
) -> Found:
    """The same for an entry that says no more than how it ended.

    Raises:
        NotReadable: a column can't hold its value.
        Empty: it says nothing of its end.
    """
    own = {name: value for name, value in fields.items() if value is not None}
    if isinstance(own.get("backend"), str):
        own["backend"] = own["backend"].strip().lower()
    told = tuple(dict.fromkeys((*around.marks, *marks)))
    outer = {name: value for name, value in around.fields.items() if value is not None}
    columns: dict[str, Any] = {
        **outer,
        **own,
        "place": entry.place,
        "simulated": bool(told),
        "marks": told,
        "details": {**around.details, **entry.details()},
    }
    if "status" not in columns:
        raise Empty
    return _checked(entry.place, columns)


def each(spots: Iterable[Spot], nothing: str) -> Reading:
    """The reading of a file's entries; `nothing` is what the file is if it has none.

    Raises:
        NotReadable: there are entries, and none could be read.
    """
    well: list[Found] = []
    faults: list[str] = []
    empty: list[str] = []
    for spot in spots:
        try:
            well.append(spot.read(Entry(spot.value, spot.place), spot.around))
        except NotReadable as fault:
            faults.append(str(fault))
        except Empty:
            empty.append(spot.place)
    if faults and not well:
        more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise NotReadable("; ".join(faults[:_SHOWN]) + more)
    return Reading(tuple(well), None if well else nothing, tuple(faults), tuple(empty))


def _checked(place: str, columns: dict[str, Any]) -> Found:
    if "model" not in columns:
        raise NotReadable(f"{place}: it names no model")
    try:
        return Found.model_validate(columns)
    except ValidationError as error:
        problem = wordings(error, lambda _: Found.model_fields)[0]
        raise NotReadable(f"{place}: {problem.path[0]}: {problem.message}") from error
