"""What a format is."""

from typing import Protocol

from orchestrator.imports.document import Document
from orchestrator.imports.reading import Reading


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
