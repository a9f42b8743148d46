"""Entries of one file become its reading: the whole ones, the broken ones and the empty ones."""

from orchestrator.imports.entry import Broken, Entry
from orchestrator.imports.formats.base import NotReadable, Reading
from orchestrator.imports.measurement import Found

_SHOWN = 5


class Gathering:
    """Takes a file's entries one by one."""

    def __init__(self) -> None:
        self._found: list[Found] = []
        self._faults: list[str] = []
        self._empty: list[str] = []

    def take(self, entry: Entry) -> None:
        """Keep what the entry holds, or what is wrong with it."""
        try:
            found = entry.found()
        except Broken as broken:
            self._faults += broken.faults
            return
        if found is None:
            self._empty.append(entry.place)
        else:
            self._found.append(found)

    def fault(self, text: str) -> None:
        """Something that could not even become an entry, with its place."""
        self._faults.append(text)

    def reading(self, nothing: str) -> Reading:
        """What the file holds; `nothing` says what it is if it holds no measurement.

        Raises:
            NotReadable: there are entries, and none could be read.
        """
        if self._faults and not self._found:
            more = len(self._faults) - _SHOWN
            rest = [f"and {more} more"] if more > 0 else []
            raise NotReadable("; ".join([*self._faults[:_SHOWN], *rest]))
        return Reading(
            found=tuple(self._found),
            nothing=None if self._found else nothing,
            faults=tuple(self._faults),
            empty=tuple(self._empty),
        )
