"""One entry of a file: what a format takes goes into columns, the rest into the details."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from orchestrator.imports.document import last, under
from orchestrator.imports.formats.base import NotReadable
from orchestrator.imports.measurement import (
    Found,
    NumberQuantities,
    as_text,
    dimension_of,
    flatten,
    quantity,
)
from orchestrator.imports.table import moment_in, truth_from
from orchestrator.system.problems import quote

_TEXT_LIMIT = 1000
_EPOCH_SECONDS = (1e8, 1e11)


def moment_from(value: object) -> tuple[datetime, bool] | None:
    """A point in time and whether its zone was told; None if it is no time."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = _EPOCH_SECONDS
        return (datetime.fromtimestamp(value, UTC), True) if low < value < high else None
    if not isinstance(value, str):
        return None
    try:
        return moment_in(value)
    except ValueError:
        return None


def details_of(value: Any, name: str = "") -> dict[str, str]:
    """What a value holds, as text by dotted names; what is long is shortened, and says so."""
    return {key: _shortened(text) for key, text in flatten(value, name).items()}


def _shortened(text: str) -> str:
    if len(text) <= _TEXT_LIMIT:
        return text
    return f"{text[:_TEXT_LIMIT]} … ({len(text)} characters)"


@dataclass(frozen=True)
class Around:
    """What holds for every entry below a place of a file."""

    fields: dict[str, Any] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spot:
    """A value that ought to be an entry, where it stands, and what makes a measurement of it."""

    value: Any
    place: str
    read: "Reader"
    around: Around = Around()


class Entry:
    """A JSON object that remembers which of its values were taken.

    Raises:
        NotReadable: it is no object.
    """

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise NotReadable(f"{place}: {quote(value)} is no object")
        self.value: dict[str, Any] = value
        self.place = place
        self._rest = dict(value)
        self._notes: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The key under which it stands."""
        return last(self.place)

    def seen(self, key: str) -> Any:
        """A value, which stays in the details."""
        return self.value.get(key)

    def text(self, *keys: str) -> str | None:
        """The first of these that is text and not empty."""
        return next((self._rest.pop(key) for key in keys if self._holds_text(key)), None)

    def flag(self, key: str) -> bool | None:
        """Yes or no, which stays in the details.

        Raises:
            NotReadable: it is neither.
        """
        try:
            return truth_from(self.value.get(key))
        except ValueError as error:
            raise NotReadable(f"{under(self.place, key)}: {error}") from error

    def note(self, key: str, text: str) -> None:
        """Say something of a value that was taken."""
        self._notes[key] = f"{as_text(self.value.get(key))} ({text})"

    def number(self, key: str, column: str, unit: str | None = None) -> NumberQuantities | None:
        """A number in the column's base unit.

        Raises:
            NotReadable: it is something else.
        """
        number = self._quantity(self._rest.get(key), key, unit, dimension_of(column))
        if number is not None:
            del self._rest[key]
        return number

    def count(self, key: str) -> int | None:
        """A whole number.

        Raises:
            NotReadable: it is something else.
        """
        number = self.number(key, key)
        if isinstance(number, float):
            raise NotReadable(f"{under(self.place, key)}: {number} is not a whole number")
        return number

    def checked(self, *keys: str) -> None:
        """See that these are numbers where they are told; they stay in the details.

        Raises:
            NotReadable: one is something else.
        """
        for key in keys:
            self._quantity(self.value.get(key), key, None, "count")

    def durations(self, key: str, unit: str) -> tuple[NumberQuantities, ...] | None:
        """Raw durations in nanoseconds.

        Raises:
            NotReadable: one of them is no duration.
        """
        values = self._rest.get(key)
        if not isinstance(values, list) or not values:
            return None
        del self._rest[key]
        durations = [self._quantity(value, key, unit, "nanoseconds") for value in values]
        told = tuple(duration for duration in durations if duration is not None)
        if len(told) < len(values):
            raise NotReadable(f"{under(self.place, key)}: one of the durations is missing")
        return told

    def moment(self, *keys: str) -> datetime | None:
        """A point in time; one without a zone is taken as UTC, and the details say so."""
        for key in keys:
            moment = moment_from(self._rest.get(key))
            if moment:
                del self._rest[key]
                if not moment[1]:
                    self.note(key, "no zone is given, taken as UTC")
                return moment[0]
        return None

    def inner(self, key: str) -> "Entry | None":
        """An object below it, whose values are taken from there."""
        value = self._rest.get(key)
        if not isinstance(value, dict):
            return None
        del self._rest[key]
        return Entry(value, under(self.place, key))

    def spots(self, key: str, read: "Reader", around: Around) -> Iterator[Spot]:
        """The entries of an object or of a list below it."""
        value = self._rest.pop(key, None)
        items = value if isinstance(value, list) else ()
        for inner, item in value.items() if isinstance(value, dict) else enumerate(items):
            yield Spot(item, under(self.place, key, inner), read, around)

    def details(self, name: str = "") -> dict[str, str]:
        """What nobody took, as text by dotted names."""
        return {**details_of(self._rest, name), **details_of(self._notes, name)}

    def _holds_text(self, key: str) -> bool:
        value = self._rest.get(key)
        return isinstance(value, str) and bool(value.strip())

    def _quantity(
        self, value: Any, key: str, unit: str | None, dimension: str
    ) -> NumberQuantities | None:
        try:
            return quantity(value, unit, dimension)
        except ValueError as error:
            raise NotReadable(f"{under(self.place, key)}: {error}") from error


Reader = Callable[[Entry, Around], Found]
