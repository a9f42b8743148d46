"""One entry of a foreign file while it is read: its values, and everything wrong with them."""

import re
from typing import Any

from pydantic import ValidationError

from orchestrator.imports.measurement import Found, dimension_of, flatten, quantity, says_nothing
from orchestrator.system.problems import problems_in, quote
from runner.contract.record import Status

MEASURED = frozenset(
    name
    for name in Found.model_fields
    if name.startswith(("latency_", "time_", "durations_", "energy_"))
    or name.endswith(("_time_s", "_latency_s", "throughput", "_peak_bytes"))
)
"""The columns of which an entry that ended well fills at least one."""


class Broken(Exception):
    """An entry holds values that cannot be read."""

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults
        """Each with the entry's place and the value's own name."""


class Entry:
    """Takes values under the names that the file gives them, and hands out what it found."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._values: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._lists: set[str] = set()
        self._details: dict[str, str] = {}
        self._marks: list[str] = []
        self._measures = False
        self._faults: list[str] = []

    def set(self, **columns: Any) -> None:
        """Columns that are known without reading a value of the entry."""
        self._values |= {column: value for column, value in columns.items() if value is not None}

    def number(self, column: str, name: str, value: object, unit: str | None = None) -> None:
        """A number in the column's dimension; without a unit it is in the base unit."""
        self._names[column] = name
        try:
            self.set(**{column: quantity(value, unit, dimension_of(column))})
        except ValueError as error:
            self.fault(name, str(error))

    def durations(self, name: str, values: object, unit: str, part: str | None = None) -> None:
        """Raw durations in order, of whole iterations or of a part of them."""
        if says_nothing(values) or values == []:
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
        """A word, without the blanks around it."""
        self._names[column] = name
        if isinstance(value, bool | dict | list):
            self.fault(name, f"{quote(value)} is not text")
        elif not says_nothing(value):
            self.set(**{column: str(value).strip()})

    def detail(self, name: str, value: object) -> None:
        """What no column takes; of what is below the name, columns take what they have taken."""
        self._details |= flatten(value, name)

    def measures(self) -> None:
        """The entry is a measurement, even if no column takes any of its values."""
        self._measures = True

    def mark(self, *marks: str) -> None:
        """Marks that no device made the numbers, with their places."""
        self._marks += marks

    def fault(self, name: str, message: str) -> None:
        """Something is wrong with the value of this name."""
        self._faults.append(f"{self.place}: {name}: {message}")

    def found(self) -> Found | None:
        """What the entry holds; None if it is neither a failure nor a measurement.

        Raises:
            Broken: it holds values that cannot be read.
        """
        if self._faults:
            raise Broken(tuple(self._faults))
        measured = self._measures or self._values.keys() & MEASURED
        if self._values.get("status") == "ok" and not measured:
            return None
        try:
            return Found(
                place=self.place,
                simulated=bool(self._marks),
                marks=tuple(dict.fromkeys(self._marks)),
                details=self._left(),
                **self._values,
            )
        except ValidationError as error:
            raise Broken(tuple(self._refusals(error))) from None

    def _left(self) -> dict[str, str]:
        columns = {name for column, name in self._names.items() if column in self._values}
        taken = columns | self._lists
        return {name: text for name, text in self._details.items() if name not in taken}

    def _refusals(self, error: ValidationError) -> list[str]:
        problems = problems_in(error, lambda _: Found.model_fields)
        named = [(str(problem.path[0]), problem.message) for problem in problems]
        return [f"{self.place}: {self._names.get(name, name)}: {told}" for name, told in named]


_LONGEST = 500
_LINES = 3
_TRACEBACK = re.compile(r"^\s*Traceback \(most recent call last\)", re.MULTILINE)
_MEANINGS: tuple[tuple[Status, re.Pattern[str]], ...] = (
    (
        "out_of_memory",
        re.compile(r"out of memory|OutOfMemory|MemoryError|bad_alloc|can(?:'t|not) allocate", re.I),
    ),
    ("timeout", re.compile(r"timed[ _]out|\btime-?out\b|TimeoutE", re.I)),
    (
        "unsupported",
        re.compile(
            r"not (?:yet )?(?:supported|implemented)|unsupported|(?:not |in)compatible", re.I
        ),
    ),
    (
        "unavailable",
        re.compile(
            r"no module named|not (?:available|installed)|unavailable|no such device"
            r"|device not found",
            re.I,
        ),
    ),
)


def meaning_of(text: str) -> Status | None:
    """The verdict that a text's words tell of; None if they tell none."""
    return next((status for status, words in _MEANINGS if words.search(text)), None)


def status_of(error: str) -> Status:
    """The verdict that an error's telling lines mean."""
    return meaning_of(reason_of(error)) or "failed"


def reason_of(error: str) -> str:
    """The lines that tell most: the last one of a traceback, else the first few."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    kept = lines[-1:] if _TRACEBACK.search(error) else lines[:_LINES]
    told = "\n".join(kept)
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 1]}…"
