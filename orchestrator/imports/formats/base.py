"""What a format is."""

from dataclasses import dataclass
from typing import Protocol

from orchestrator.imports.document import Document
from orchestrator.imports.measurement import Found


@dataclass(frozen=True)
class Reading:
    """The file's content."""

    found: tuple[Found, ...] = ()
    nothing: str | None = None
    """What the file is, if it holds no measurement: `a list of models`, `settings of a run`."""
    faults: tuple[str, ...] = ()
    """Entries that could not be read while others could, each with its place and why."""
    empty: tuple[str, ...] = ()
    """Places of entries that name what would be measured and hold no measured value."""
    beside: tuple[str, ...] = ()
    """What the records rest on beside the file's content: the hash of a config, a mapping's name.
    With it, the same content is another import."""


class NotReadable(Exception):
    """The file has this format's shape, and cannot be read in it: says where and why."""


class Format(Protocol):
    """One way in which another benchmark writes its results."""

    name: str
    """The record's `source_format`, e.g. `optimum-benchmark`."""
    source: str
    """The record's `source`: the project that writes this format."""

    def recognises(self, document: Document) -> bool:
        """Whether the file has this format's shape; looks at content, never at the name alone."""

    def read(self, document: Document) -> Reading:
        """What the file holds.

        Raises:
            NotReadable: the shape is this format's, and the content contradicts it.
        """
