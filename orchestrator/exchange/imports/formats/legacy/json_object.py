"""JSON objects: values that a format takes become columns, the rest becomes details."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from orchestrator.exchange.imports.document import last_key, parse_boolean, parse_time, pointer
from orchestrator.exchange.imports.measurement import (
    ImportedMeasurement,
    as_text,
    dimension_of,
    flatten,
    moment_fault,
    quantity,
)
from orchestrator.system.problems import quote
from runner.contract.errors import SkipEntry

_TEXT_LIMIT = 1000
_EPOCH_SECONDS = (1e8, 1e11)


def read_time(value: object) -> tuple[datetime, bool] | None:
    """A time, with True if its zone is known; None if it is no time."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = _EPOCH_SECONDS
        return (datetime.fromtimestamp(value, UTC), True) if low < value < high else None
    if not isinstance(value, str):
        return None
    try:
        return parse_time(value)
    except ValueError:
        return None


def details_of(value: Any, name: str = "") -> dict[str, str]:
    """Values as text by dotted names; long ones are shortened, and say so."""
    return {key: _shortened(text) for key, text in flatten(value, name).items()}


def _shortened(text: str) -> str:
    if len(text) <= _TEXT_LIMIT:
        return text
    return f"{text[:_TEXT_LIMIT]} … ({len(text)} characters)"


@dataclass(frozen=True)
class Context:
    """Columns, details and marks of every entry below a location of a file."""

    fields: dict[str, Any] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Node:
    """A JSON value that should be an entry, with the function that makes a measurement of it."""

    value: Any
    location: str
    read: "Reader"
    context: Context = Context()

    def measurement(self) -> ImportedMeasurement:
        """The measurement, or the failure, that the entry holds.

        Raises:
            SkipEntry: it cannot be read; without a reason: it holds no measured value.
        """
        return self.read(JsonObject(self.value, self.location), self.context)


class JsonObject:
    """A JSON object that remembers which of its values became columns.

    Raises:
        SkipEntry: it is no object.
    """

    def __init__(self, value: Any, location: str) -> None:
        if not isinstance(value, dict):
            raise SkipEntry(f"{location}: {quote(value)} is no object")
        self.value: dict[str, Any] = value
        self.location = location
        self._rest = dict(value)
        self._notes: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The key of the object."""
        return last_key(self.location)

    def seen(self, key: str) -> Any:
        """A value that stays in the details."""
        return self.value.get(key)

    def text(self, *keys: str) -> str | None:
        """Take the first of these that is text and not empty."""
        return next((self._rest.pop(key) for key in keys if self._holds_text(key)), None)

    def flag(self, key: str) -> bool | None:
        """A boolean that stays in the details.

        Raises:
            SkipEntry: it is neither.
        """
        try:
            return parse_boolean(self.value.get(key))
        except ValueError as error:
            raise SkipEntry(f"{pointer(self.location, key)}: {error}") from error

    def note(self, key: str, text: str) -> None:
        """Add a remark about a value that was taken."""
        self._notes[key] = f"{as_text(self.value.get(key))} ({text})"

    def number(self, key: str, column: str, unit: str | None = None) -> int | float | None:
        """Take a number in the column's base unit.

        Raises:
            SkipEntry: it is something else.
        """
        number = self._quantity(self._rest.get(key), key, unit, dimension_of(column))
        if number is not None:
            del self._rest[key]
        return number

    def count(self, key: str) -> int | None:
        """Take a whole number.

        Raises:
            SkipEntry: it is something else.
        """
        number = self.number(key, key)
        if isinstance(number, float):
            raise SkipEntry(f"{pointer(self.location, key)}: {number} is not a whole number")
        return number

    def check_numbers(self, *keys: str) -> None:
        """Check that these are numbers or absent; they stay in the details.

        Raises:
            SkipEntry: one is something else.
        """
        for key in keys:
            self._quantity(self.value.get(key), key, None, "count")

    def durations(self, key: str, unit: str) -> tuple[int | float, ...] | None:
        """Take raw durations in nanoseconds.

        Raises:
            SkipEntry: one of them is no duration.
        """
        values = self._rest.get(key)
        if not isinstance(values, list) or not values:
            return None
        del self._rest[key]
        durations = [self._quantity(value, key, unit, "nanoseconds") for value in values]
        known = tuple(duration for duration in durations if duration is not None)
        if len(known) < len(values):
            raise SkipEntry(f"{pointer(self.location, key)}: one of the durations is missing")
        return known

    def moment(self, *keys: str) -> datetime | None:
        """Take a time; one without a zone is taken as UTC, and the details say so.

        Raises:
            SkipEntry: it lies at an end of the calendar.
        """
        for key in keys:
            moment = read_time(self._rest.get(key))
            if moment:
                if fault := moment_fault(moment[0]):
                    raise SkipEntry(f"{pointer(self.location, key)}: {fault}")
                del self._rest[key]
                if not moment[1]:
                    self.note(key, "no zone is given, taken as UTC")
                return moment[0]
        return None

    def inner(self, key: str) -> "JsonObject | None":
        """Take an object below it, for its values to be taken."""
        value = self._rest.get(key)
        if not isinstance(value, dict):
            return None
        del self._rest[key]
        return JsonObject(value, pointer(self.location, key))

    def nodes(self, key: str, read: "Reader", context: Context) -> Iterator[Node]:
        """Take an object or a list below it as nodes, one for each value."""
        value = self._rest.pop(key, None)
        items = value if isinstance(value, list) else ()
        for inner, item in value.items() if isinstance(value, dict) else enumerate(items):
            yield Node(item, pointer(self.location, key, inner), read, context)

    def details(self, name: str = "") -> dict[str, str]:
        """The values that were not taken, as text by dotted names."""
        return {**details_of(self._rest, name), **details_of(self._notes, name)}

    def _holds_text(self, key: str) -> bool:
        value = self._rest.get(key)
        return isinstance(value, str) and bool(value.strip())

    def _quantity(
        self, value: Any, key: str, unit: str | None, dimension: str
    ) -> int | float | None:
        try:
            return quantity(value, unit, dimension)
        except ValueError as error:
            raise SkipEntry(f"{pointer(self.location, key)}: {error}") from error


Reader = Callable[[JsonObject, Context], ImportedMeasurement]
