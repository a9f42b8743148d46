"""JSON objects: values that a format takes become columns of measurements, the rest details."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import ValidationError

from orchestrator.exchange.imports.document import last_key, parse_boolean, parse_time, pointer
from orchestrator.exchange.imports.entry import MEASURED, status_in_text
from orchestrator.exchange.imports.measurement import (
    ImportedMeasurement,
    as_text,
    dimension_of,
    flatten,
    moment_fault,
    quantity,
)
from orchestrator.exchange.imports.simulation_marks import marks_in
from orchestrator.system.problems import problems_in, quote
from runner.contract.errors import SkipEntry
from runner.contract.record.verdict import Status

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
        """The measurement, or the failure, that the entry holds."""
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
        """A boolean that stays in the details."""
        try:
            return parse_boolean(self.value.get(key))
        except ValueError as error:
            raise SkipEntry(f"{pointer(self.location, key)}: {error}") from error

    def note(self, key: str, text: str) -> None:
        """Add a remark about a value that was taken."""
        self._notes[key] = f"{as_text(self.value.get(key))} ({text})"

    def number(self, key: str, column: str, unit: str | None = None) -> int | float | None:
        """Take a number in the column's base unit."""
        number = self._quantity(self._rest.get(key), key, unit, dimension_of(column))
        if number is not None:
            del self._rest[key]
        return number

    def count(self, key: str) -> int | None:
        """Take a whole number."""
        number = self.number(key, key)
        if isinstance(number, float):
            raise SkipEntry(f"{pointer(self.location, key)}: {number} is not a whole number")
        return number

    def check_numbers(self, *keys: str) -> None:
        """Check that these are numbers or absent; they stay in the details."""
        for key in keys:
            self._quantity(self.value.get(key), key, None, "count")

    def durations(self, key: str, unit: str) -> tuple[int | float, ...] | None:
        """Take raw durations in nanoseconds."""
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
        """Take a time; one without a zone is taken as UTC, and the details say so."""
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


_Ending = Literal["success", "failure", "unfinished", "unknown"]

_REASON_LIMIT = 500
_MESSAGES = ("error", "error_message", "test_error", "reason", "message", "note")
_OUTPUTS = ("traceback", "stderr", "error_output", "raw_stderr")
_ERROR_LINE = re.compile(r"\s*[\w.]*(?:Error|Exception|Interrupt|Exit|Expired)\b")
_SUCCESSES = ("success", "succeeded", "completed", "complete", "finished", "done", "ok", "passed")
_UNFINISHED = ("pending", "queued", "running", "started", "manual", "automated", "unknown")
_FAILURE = re.compile(r"fail|error|time_?d?_?out|out_of_memory|oom|crash|abort|unsupp|unavail|skip")


def build_measurement(
    entry: JsonObject,
    context: Context,
    fields: dict[str, Any],
    marks: tuple[str, ...] | None = None,
) -> ImportedMeasurement:
    """Build a measurement: the entry's own columns override the context's; the rest is details.

    Its marks are those of its value, unless others are given.
    """
    measured = build_outcome(entry, context, {"status": "ok", **fields}, marks)
    if measured.status == "ok" and all(getattr(measured, name) is None for name in MEASURED):
        raise SkipEntry
    return measured


def build_outcome(
    entry: JsonObject,
    context: Context,
    fields: dict[str, Any],
    marks: tuple[str, ...] | None = None,
) -> ImportedMeasurement:
    """Build the result of an entry that says no more than how it ended."""
    own = {name: value for name, value in fields.items() if value is not None}
    if isinstance(own.get("backend"), str):
        own["backend"] = own["backend"].strip().lower()
    own_marks = marks_in(entry.value, entry.location) if marks is None else marks
    all_marks = tuple(dict.fromkeys((*context.marks, *own_marks)))
    columns: dict[str, Any] = {
        **{name: value for name, value in context.fields.items() if value is not None},
        **own,
        "location": entry.location,
        "simulated": bool(all_marks),
        "marks": all_marks,
        "details": {**context.details, **entry.details()},
    }
    if "status" not in columns:
        raise SkipEntry
    return _validated(entry.location, columns)


def status_fields(entry: JsonObject) -> dict[str, Any]:
    """The status and the reason of an entry; empty if it doesn't say how it ended."""
    word = (entry.text("status") or "").strip()
    ending = _ending(entry, word.lower())
    if ending == "unfinished":
        return {"status": "lost", "reason": f"status is {word}: no result was recorded"}
    if ending in ("success", "unknown"):
        return {"status": "ok"} if ending == "success" else {}
    reason = _reason(entry, word)
    kind = entry.text("error_type") or ""
    otherwise: Status = "unavailable" if word.lower().startswith("skip") else "failed"
    if _is_incompatible(entry):
        otherwise = "unsupported"
    text = f"{kind}\n{word}\n{reason}"
    return {"status": status_in_text(text) or otherwise, "reason": reason}


def error_line(text: str) -> str:
    """The most informative lines of an error: the last one of a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR_LINE.match(line)]
    if errors:
        return errors[-1][:_REASON_LIMIT]
    return "\n".join(lines if len(lines) <= 3 else lines[-1:])[:_REASON_LIMIT]


def _validated(location: str, columns: dict[str, Any]) -> ImportedMeasurement:
    if "model" not in columns:
        raise SkipEntry(f"{location}: it names no model")
    try:
        return ImportedMeasurement.model_validate(columns)
    except ValidationError as error:
        problem = problems_in(error, lambda _: ImportedMeasurement.model_fields)[0]
        raise SkipEntry(f"{location}: {problem.path[0]}: {problem.message}") from error


def _ending(entry: JsonObject, word: str) -> _Ending:
    success, code = entry.flag("success"), entry.seen("return_code")
    wrong = success is False or _is_incompatible(entry) or code not in (None, 0, "0")
    if wrong or _FAILURE.search(word):
        return "failure"
    if word in _UNFINISHED:
        return "unfinished"
    if word and word not in _SUCCESSES:
        raise SkipEntry(f"{entry.location}/status: {word!r} is no status that is known")
    if success or word or code is not None:
        return "success"
    return "failure" if entry.seen("error") or entry.seen("error_message") else "unknown"


def _is_incompatible(entry: JsonObject) -> bool:
    return entry.flag("compatible") is False or entry.flag("is_compatible") is False


def _reason(entry: JsonObject, word: str) -> str:
    parts = [part for keys in (_MESSAGES, _OUTPUTS) if (part := _first(entry, keys))]
    if parts:
        return ": ".join(parts)[:_REASON_LIMIT]
    code = entry.seen("return_code")
    if code not in (None, 0, "0"):
        return f"exit code {code}"
    return "it is not compatible" if _is_incompatible(entry) else word or "no reason is given"


def _first(entry: JsonObject, keys: tuple[str, ...]) -> str:
    texts = (error_line(text) for key in keys if isinstance(text := entry.seen(key), str))
    return next(filter(None, texts), "")
