"""What became of one file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.imports.document import Document
from orchestrator.imports.formats.base import Format
from orchestrator.imports.reading import NotReadable, Reading


@dataclass(frozen=True)
class Verdict:
    """One file ends in one of three ways: with records, as holding none, or not recognised."""

    path: Path
    sha256: str = ""
    """Hash of its content; empty if it could not be read."""
    format: str | None = None
    """The format that recognised it."""
    source: str | None = None
    """The project that writes this format."""
    reading: Reading = field(default_factory=Reading)
    refused: str | None = None
    """Why nothing could be made of it."""

    @property
    def outcome(self) -> str:
        """What became of it, in words."""
        if self.refused is not None:
            return f"not recognised: {self.refused}"
        if self.reading.found:
            count = len(self.reading.found)
            return f"{count} record{'s' if count > 1 else ''}"
        return f"holds no measurement: {self.reading.nothing or 'no entry has a measured value'}"


def judge(path: Path, formats: Sequence[Format]) -> Verdict:
    """Read the file in the first format whose shape it has."""
    try:
        document = Document.read(path)
    except OSError as error:
        return Verdict(path, refused=f"cannot be read: {error.strerror or error}")
    for each in formats:
        if not each.recognises(document):
            continue
        try:
            reading = each.read(document)
        except NotReadable as reason:
            return Verdict(path, document.sha256, each.name, each.source, refused=str(reason))
        return Verdict(path, document.sha256, each.name, each.source, reading)
    return Verdict(path, document.sha256, refused=_why(document))


def _why(document: Document) -> str:
    if not document.content.strip():
        return "the file is empty"
    if document.text is None:
        return "it is not text in UTF-8"
    if document.path.suffix == ".json" and document.json_fault:
        return document.json_fault
    if document.json is not None:
        return f"JSON, but of no shape that is known: {_outline(document.json)}"
    return "no format that is known; `--mapping` describes any other CSV or JSON"


def _outline(data: object) -> str:
    if isinstance(data, dict):
        names = ", ".join(list(data)[:6])
        return f"an object with {names}{', …' if len(data) > 6 else ''}" if data else "an empty one"
    if isinstance(data, list):
        return f"a list of {len(data)}" + (f", first {_outline(data[0])}" if data else "")
    return f"a bare {type(data).__name__}"
