"""Readings: the measurements of one file in one format."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from runner.contract.errors import DamagedFile, SkipEntry

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
        """Read the measurements.

        Raises:
            DamagedFile: the shape is this format's, and the content contradicts it.
        """


class ReadableEntry(Protocol):
    """One entry of a file, which may be a measurement."""

    @property
    def location(self) -> str:
        """The entry's JSON pointer, or its line."""

    def measurement(self) -> ImportedMeasurement:
        """The measurement, or the failure, that the entry holds.

        Raises:
            SkipEntry: a value cannot be read; without a reason: the entry holds no measured value.
        """


@dataclass(frozen=True)
class BrokenEntry:
    """An entry that is unreadable as a whole."""

    location: str
    fault: str
    """The reason, with the location."""

    def measurement(self) -> ImportedMeasurement:
        """Raise SkipEntry with the fault."""
        raise SkipEntry(self.fault)


def gather(entries: Iterable[ReadableEntry], nothing: str) -> Reading:
    """Read every entry of a file; `nothing` says what the file is if it holds no measurement.

    Raises:
        DamagedFile: there are entries, and none could be read.
    """
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
