"""Entries of a file in another format, and its reading: values, and everything wrong with them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import ValidationError

from orchestrator.exchange.imports.document import Document, parse_time
from orchestrator.exchange.imports.measurement import (
    ImportedMeasurement,
    dimension_of,
    flatten,
    is_null,
    moment_fault,
    quantity,
)
from orchestrator.system.problems import problems_in, quote
from runner.contract.errors import DamagedFile, SkipEntry
from runner.contract.record.verdict import Status

_SHOWN_FAULTS = 5


@dataclass(frozen=True)
class Reading:
    """The content of one file."""

    measurements: tuple[ImportedMeasurement, ...] = ()
    nothing: str | None = None
    """The kind of a file that holds no measurement: `a list of models`, `settings of a run`."""
    faults: tuple[str, ...] = ()
    """Entries that could not be read while others could, each with its location and why."""
    empty: tuple[str, ...] = ()
    """Locations of entries that name what would be measured and hold no measured value."""
    beside: tuple[str, ...] = ()
    """Sources of the records beside the file's content: the hash of a config, a mapping's name.
    With it, the same content is another import."""


class Format(Protocol):
    """One way in which another benchmark writes its results."""

    name: str
    """The record's `source_format`, e.g. `optimum-benchmark`."""
    source: str
    """The record's `source`: the project that writes this format."""

    def recognises(self, document: Document) -> bool:
        """True if the content has this format's shape; the file's name alone never decides."""

    def read(self, document: Document) -> Reading:
        """Read the measurements; DamagedFile if the content contradicts the shape."""


class ReadableEntry(Protocol):
    """One entry of a file, which may be a measurement."""

    @property
    def location(self) -> str:
        """The entry's JSON pointer, or its line."""

    def measurement(self) -> ImportedMeasurement:
        """The measurement or failure; SkipEntry if a value is wrong, or nothing was measured."""


def gather(entries: Iterable[ReadableEntry], nothing: str) -> Reading:
    """Read every entry of a file; `nothing` says what the file is if it holds no measurement."""
    measurements: list[ImportedMeasurement] = []
    faults: list[str] = []
    empty: list[str] = []
    for entry in entries:
        try:
            measurements.append(entry.measurement())
        except SkipEntry as skipped:
            faults += skipped.reasons
            if not skipped.reasons:
                empty.append(entry.location)
    if faults and not measurements:
        more = len(faults) - _SHOWN_FAULTS
        rest = [f"and {more} more"] if more > 0 else []
        raise DamagedFile(*faults[:_SHOWN_FAULTS], *rest)
    return Reading(
        tuple(measurements), None if measurements else nothing, tuple(faults), tuple(empty)
    )


MEASURED = frozenset(
    name
    for name in ImportedMeasurement.model_fields
    if name.startswith(("latency_", "time_", "durations_", "energy_"))
    or name.endswith(("_time_s", "_latency_s", "throughput", "_peak_bytes"))
)
"""Columns of measured values; an entry that ended well fills at least one."""
_LONGEST = 500
_LINES = 3
_TRACEBACK = re.compile(r"^\s*Traceback \(most recent call last\)", re.MULTILINE)
_MEANINGS: dict[Status, str] = {
    "out_of_memory": r"out of memory|OutOfMemory|MemoryError|bad_alloc|can(?:'t|not) allocate",
    "timeout": r"timed[ _]out|\btime-?out\b|TimeoutE",
    "unsupported": r"not (?:yet )?(?:supported|implemented)|unsupported|(?:not |in)compatible",
    "unavailable": r"no module named|not (?:available|installed)|unavailable|no such device"
    r"|device not found",
}


class FileEntry:
    """Collects values under the names of the file; `fault` says why it is unreadable as a whole."""

    def __init__(self, location: str, fault: str | None = None) -> None:
        self.location = location
        self._values: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._lists: set[str] = set()
        self._details: dict[str, str] = {}
        self._settings: dict[str, str] = {}
        self._marks: list[str] = []
        self.measures = False
        """True if it is a measurement even if no column takes any of its values."""
        self._faults = [] if fault is None else [fault]

    def set(self, **columns: Any) -> None:
        """Set columns that are known without reading a value of the entry."""
        self._values |= {column: value for column, value in columns.items() if value is not None}

    def fail(self, error: str) -> None:
        """Set the status and reason that the text of an error means."""
        lines = [line.strip() for line in error.splitlines() if line.strip()]
        text = "\n".join(lines[-1:] if _TRACEBACK.search(error) else lines[:_LINES])
        reason = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
        self.set(status=status_in_text(reason) or "failed", reason=reason)

    def number(self, column: str, name: str, value: object, unit: str | None = None) -> None:
        """Set a number in the column's dimension; without a unit it is in the base unit."""
        self._names[column] = name
        try:
            self.set(**{column: quantity(value, unit, dimension_of(column))})
        except ValueError as error:
            self.fault(name, str(error))

    def durations(self, name: str, values: object, unit: str, part: str | None = None) -> None:
        """Set raw durations in order, of whole iterations or of a part of them."""
        if is_null(values) or values == []:
            return
        if not isinstance(values, list):
            self.fault(name, f"{quote(values)} is not a list of durations")
            return
        try:
            durations = [quantity(value, unit, "nanoseconds") for value in values]
        except ValueError as error:
            self.fault(name, str(error))
            return
        if None in durations:
            self.fault(name, "one of the durations is missing")
        elif part is None:
            self.set(durations_ns=tuple(durations))
        else:
            parts = self._values.get("part_durations_ns", {})
            self.set(part_durations_ns=parts | {part: tuple(durations)})
        self._lists.add(name)

    def text(self, column: str, name: str, value: object) -> None:
        """Set a text without the blanks around it."""
        self._names[column] = name
        if isinstance(value, bool | dict | list):
            self.fault(name, f"{quote(value)} is not text")
        elif not is_null(value):
            self.set(**{column: str(value).strip()})

    def moment(self, column: str, name: str, value: object) -> None:
        """Set a time; one without a zone is taken as UTC, and the details say so."""
        try:
            moment, has_zone = parse_time(str(value))
        except ValueError:
            self.fault(name, f"{quote(value)} is not a time such as 2025-03-01T12:00:00Z")
            return
        if fault := moment_fault(moment):
            self.fault(name, fault)
            return
        if not has_zone:
            self.detail(column, "has no zone and is taken as UTC")
        self.set(**{column: moment})

    def detail(self, name: str, value: object) -> None:
        self._details |= flatten(value, name)

    def setting(self, name: str, value: object) -> None:
        """Add values, by name, that must agree for results to compare: no axis takes them."""
        self._settings |= flatten(value, name)

    def mark(self, *marks: str) -> None:
        self._marks += marks

    def fault(self, name: str, message: str) -> None:
        self._faults.append(f"{self.location}: {name}: {message}")

    def measurement(self) -> ImportedMeasurement:
        if self._faults:
            raise SkipEntry(*self._faults)
        measured = self.measures or self._values.keys() & MEASURED
        if self._values.get("status") == "ok" and not measured:
            raise SkipEntry
        columns = {name for column, name in self._names.items() if column in self._values}
        taken = columns | self._lists
        try:
            return ImportedMeasurement(
                location=self.location,
                simulated=bool(self._marks),
                marks=tuple(dict.fromkeys(self._marks)),
                settings=", ".join(map(" ".join, sorted(self._settings.items()))),
                details={name: text for name, text in self._details.items() if name not in taken},
                **self._values,
            )
        except ValidationError as error:
            problems = problems_in(error, lambda _: ImportedMeasurement.model_fields)
            named = [(str(problem.path[0]), problem.message) for problem in problems]
            raise SkipEntry(
                *(f"{self.location}: {self._names.get(name, name)}: {text}" for name, text in named)
            ) from None


def status_in_text(text: str) -> Status | None:
    """The status that words of a text mean, e.g. `out of memory`; None if none does."""
    meanings = _MEANINGS.items()
    return next((status for status, words in meanings if re.search(words, text, re.I)), None)
