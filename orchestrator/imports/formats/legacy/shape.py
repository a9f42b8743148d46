"""A shape of file that the origin project writes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orchestrator.imports.document import Document
from orchestrator.imports.marks import marks_in
from orchestrator.imports.reading import NotReadable, Reading

_REMARKS = frozenset({"warning", "warnings", "note", "notes"})


@dataclass
class Shape:
    """One of its formats, recognised by the keys and types of the JSON value."""

    name: str
    matches: Callable[[Any], bool]
    reads: Callable[[Any], Reading]
    source: str = "ipfs_accelerate_py"

    def recognises(self, document: Document) -> bool:
        """Whether the file's JSON has this shape."""
        try:
            return self.matches(document.json)
        except RecursionError:
            return False

    def read(self, document: Document) -> Reading:
        """The measurements in it.

        Raises:
            NotReadable: none of its entries can be read.
        """
        try:
            return self.reads(document.json)
        except RecursionError as error:
            raise NotReadable("it is nested too deeply") from error


def is_map(value: Any, *keys: str) -> bool:
    """Whether it is an object with these keys."""
    return isinstance(value, dict) and all(key in value for key in keys)


def is_map_of_maps(value: Any) -> bool:
    """Whether it is an object that holds objects, at least one."""
    return isinstance(value, dict) and any(isinstance(item, dict) for item in value.values())


def has_map(value: Any, *keys: str) -> bool:
    """Whether it is an object that holds an object under each of these keys."""
    return isinstance(value, dict) and all(isinstance(value.get(key), dict) for key in keys)


def has_any(value: Any, *keys: str) -> bool:
    """Whether it is an object with one of these keys, and that not null."""
    return isinstance(value, dict) and any(value.get(key) is not None for key in keys)


def without_remarks(value: dict[str, Any]) -> dict[str, Any]:
    """An object of entries without what only speaks of all of them: warnings, notes and marks."""
    return {name: item for name, item in value.items() if not _is_remark(name, item)}


def _is_remark(name: str, item: Any) -> bool:
    marks = () if isinstance(item, dict) else marks_in({name: item})
    return name.lower() in _REMARKS or bool(marks)
