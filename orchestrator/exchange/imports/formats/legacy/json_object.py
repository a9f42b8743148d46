"""JSON objects of the origin project: what a format takes becomes columns, the rest details."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from orchestrator.exchange.imports.document import (
    Document,
    last_key,
    parse_boolean,
    parse_time,
    pointer,
)
from orchestrator.exchange.imports.entry import MEASURED, Reading, gather, status_in_text
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
from runner.contract.errors import DamagedFile, SkipEntry
from runner.contract.record.verdict import Status

_TEXT_LIMIT = 1000
_REASON_LIMIT = 500
_EPOCH_SECONDS = (1e8, 1e11)
_MESSAGES = ("error", "error_message", "test_error", "reason", "message", "note")
_OUTPUTS = ("traceback", "stderr", "error_output", "raw_stderr")
_ERROR_LINE = re.compile(r"\s*[\w.]*(?:Error|Exception|Interrupt|Exit|Expired)\b")
_SUCCESSES = ("success", "succeeded", "completed", "complete", "finished", "done", "ok", "passed")
_UNFINISHED = ("pending", "queued", "running", "started", "manual", "automated", "unknown")
_FAILURE = re.compile(r"fail|error|time_?d?_?out|out_of_memory|oom|crash|abort|unsupp|unavail|skip")


@dataclass(frozen=True)
class Context:
    """Columns, details and marks of every entry below a location of a file."""

    fields: dict[str, Any] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)
    marks: tuple[str, ...] = ()

    def extended(
        self,
        fields: dict[str, Any] | None = None,
        details: dict[str, str] | None = None,
        marks: tuple[str, ...] = (),
    ) -> "Context":
        """The context of a location below, whose own columns and details come first."""
        return Context(
            {**self.fields, **(fields or {})},
            {**self.details, **(details or {})},
            (*self.marks, *marks),
        )


@dataclass(frozen=True)
class Node:
    """A JSON value that should be an entry, with the function that makes a measurement of it."""

    value: Any
    location: str
    read: "Reader"
    context: Context = Context()

    def measurement(self) -> ImportedMeasurement:
        return self.read(JsonObject(self.value, self.location), self.context)


class JsonObject:
    """A JSON object: what its methods take becomes columns, the rest of its value details."""

    def __init__(self, value: Any, location: str) -> None:
        if not isinstance(value, dict):
            raise SkipEntry(f"{location}: {quote(value)} is no object")
        self.value: dict[str, Any] = value
        self.location = location
        self._rest = dict(value)
        self._notes: dict[str, str] = {}

    @property
    def name(self) -> str:
        return last_key(self.location)

    def text(self, *keys: str) -> str | None:
        """Take the first of these that is text and not empty."""
        for key in keys:
            value = self._rest.get(key)
            if isinstance(value, str) and value.strip():
                del self._rest[key]
                return value
        return None

    def flag(self, key: str) -> bool | None:
        """A boolean that stays in the details."""
        try:
            return parse_boolean(self.value.get(key))
        except ValueError as error:
            raise SkipEntry(f"{pointer(self.location, key)}: {error}") from error

    def note(self, key: str, text: str) -> None:
        self._notes[key] = f"{as_text(self.value.get(key))} ({text})"

    def number(self, key: str, column: str, unit: str | None = None) -> int | float | None:
        """Take a number in the column's base unit."""
        number = self._quantity(self._rest.get(key), key, unit, dimension_of(column))
        if number is not None:
            del self._rest[key]
        return number

    def count(self, key: str) -> int | None:
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
            if (parsed := read_time(self._rest.get(key))) is None:
                continue
            moment, has_zone = parsed
            if fault := moment_fault(moment):
                raise SkipEntry(f"{pointer(self.location, key)}: {fault}")
            del self._rest[key]
            if not has_zone:
                self.note(key, "no zone is given, taken as UTC")
            return moment
        return None

    def inner(self, key: str) -> "JsonObject | None":
        """Take an object below it, for its values to be taken."""
        if not isinstance(self._rest.get(key), dict):
            return None
        return JsonObject(self._rest.pop(key), pointer(self.location, key))

    def nodes(self, key: str, read: "Reader", context: Context) -> Iterator[Node]:
        """Take an object or a list below it as nodes, one for each value."""
        value = self._rest.pop(key, None)
        items = value if isinstance(value, list) else ()
        for inner, item in value.items() if isinstance(value, dict) else enumerate(items):
            yield Node(item, pointer(self.location, key, inner), read, context)

    def details(self, name: str = "") -> dict[str, str]:
        """The values that were not taken, as text by dotted names; long ones are shortened."""
        texts = {**flatten(self._rest, name), **flatten(self._notes, name)}
        return {
            key: text
            if len(text) <= _TEXT_LIMIT
            else f"{text[:_TEXT_LIMIT]} … ({len(text)} characters)"
            for key, text in texts.items()
        }

    def _quantity(
        self, value: Any, key: str, unit: str | None, dimension: str
    ) -> int | float | None:
        try:
            return quantity(value, unit, dimension)
        except ValueError as error:
            raise SkipEntry(f"{pointer(self.location, key)}: {error}") from error


Reader = Callable[[JsonObject, Context], ImportedMeasurement]


@dataclass
class LegacyFormat:
    """A format of the project, recognised by the keys and types of the JSON value."""

    name: str
    matches: Callable[[Any], bool]
    nodes: Callable[[Any], Iterable[Node]]
    nothing: str
    """The kind of a file that holds no measurement."""
    source: str = "ipfs_accelerate_py"

    def recognises(self, document: Document) -> bool:
        try:
            return self.matches(document.json)
        except RecursionError:
            return False

    def read(self, document: Document) -> Reading:
        try:
            return gather(self.nodes(document.json), self.nothing)
        except SkipEntry as skipped:
            raise DamagedFile(*skipped.reasons) from skipped


def is_map(value: Any, *keys: str) -> bool:
    """True for an object with these keys."""
    return isinstance(value, dict) and all(key in value for key in keys)


def is_map_of_maps(value: Any) -> bool:
    """True for an object that holds at least one object."""
    return isinstance(value, dict) and any(isinstance(item, dict) for item in value.values())


def has_map(value: Any, *keys: str) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key), dict) for key in keys)


def has_any(value: Any, *keys: str) -> bool:
    """True for an object in which one of these keys is not null."""
    return isinstance(value, dict) and any(value.get(key) is not None for key in keys)


def read_time(value: object) -> tuple[datetime, bool] | None:
    """A time, with True if its zone is known; None if it is no time."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = _EPOCH_SECONDS
        return (datetime.fromtimestamp(value, UTC), True) if low < value < high else None
    try:
        return parse_time(value) if isinstance(value, str) else None
    except ValueError:
        return None


def build_measurement(
    entry: JsonObject,
    context: Context,
    fields: dict[str, Any],
    marks: tuple[str, ...] | None = None,
) -> ImportedMeasurement:
    """Build a measurement: the entry's columns override the context's, these marks its own."""
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
    if "model" not in columns:
        raise SkipEntry(f"{entry.location}: it names no model")
    try:
        return ImportedMeasurement.model_validate(columns)
    except ValidationError as error:
        problem = problems_in(error, lambda _: ImportedMeasurement.model_fields)[0]
        raise SkipEntry(f"{entry.location}: {problem.path[0]}: {problem.message}") from error


def status_fields(entry: JsonObject) -> dict[str, Any]:
    """The status and the reason of an entry; empty if it doesn't say how it ended."""
    word = (entry.text("status") or "").strip()
    lower = word.lower()
    success, code = entry.flag("success"), entry.value.get("return_code")
    is_incompatible = entry.flag("compatible") is False or entry.flag("is_compatible") is False
    exited_badly = code not in (None, 0, "0")
    if not (success is False or is_incompatible or exited_badly or _FAILURE.search(lower)):
        if lower in _UNFINISHED:
            return {"status": "lost", "reason": f"status is {word}: no result was recorded"}
        if word and lower not in _SUCCESSES:
            raise SkipEntry(f"{entry.location}/status: {lower!r} is no status that is known")
        if success or word or code is not None:
            return {"status": "ok"}
        if not (entry.value.get("error") or entry.value.get("error_message")):
            return {}
    parts = [part for keys in (_MESSAGES, _OUTPUTS) if (part := _first_error(entry, keys))]
    reason = ": ".join(parts)[:_REASON_LIMIT] or word or "no reason is given"
    if not parts and exited_badly:
        reason = f"exit code {code}"
    elif not parts and is_incompatible:
        reason = "it is not compatible"
    otherwise: Status = "unavailable" if lower.startswith("skip") else "failed"
    if is_incompatible:
        otherwise = "unsupported"
    text = f"{entry.text('error_type') or ''}\n{word}\n{reason}"
    return {"status": status_in_text(text) or otherwise, "reason": reason}


def error_line(text: str) -> str:
    """The most informative lines of an error: the last one of a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR_LINE.match(line)]
    if errors:
        return errors[-1][:_REASON_LIMIT]
    return "\n".join(lines if len(lines) <= 3 else lines[-1:])[:_REASON_LIMIT]


def _first_error(entry: JsonObject, keys: tuple[str, ...]) -> str:
    texts = (error_line(text) for key in keys if isinstance(text := entry.value.get(key), str))
    return next(filter(None, texts), "")
