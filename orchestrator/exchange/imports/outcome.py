"""Outcomes of files: imported, skipped or refused, with the reason."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.entry import Format, Reading
from orchestrator.exchange.imports.simulation_marks import marks_in_name
from runner.contract.errors import DamagedFile
from runner.contract.record.ids import digest

OutcomeKind = Literal["records", "same content", "no measurement", "not recognised"]
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")


@dataclass(frozen=True)
class FileOutcome:
    """The result of reading one file: with records, without any, or not recognised."""

    path: Path
    sha256: str = ""
    format: str | None = None
    source: str | None = None
    reading: Reading = field(default_factory=Reading)
    refused: str | None = None
    """Reason why nothing in it could be read."""
    same_as: Path | None = None
    """An earlier file with the same content, whose records count for both."""

    @property
    def kind(self) -> OutcomeKind:
        if self.refused is not None:
            return "not recognised"
        if not self.reading.measurements:
            return "no measurement"
        return "records" if self.same_as is None else "same content"

    @property
    def summary(self) -> str:
        if self.refused is not None:
            return f"not recognised: {self.refused}"
        if not self.reading.measurements:
            return f"holds no measurement: {self.reading.nothing}"
        if self.same_as is not None:
            return f"same content as {self.same_as}"
        count = len(self.reading.measurements)
        return f"{count} record{'s' if count > 1 else ''}"

    @property
    def run_id(self) -> str:
        """The run id of its records: the same content has the same one."""
        rests_on = "\n".join((self.sha256, *self.reading.beside))
        return f"import-{digest(rests_on)}"


def read_files(
    files: Iterable[Path], formats: Sequence[Format], named: Collection[Path] = ()
) -> tuple[FileOutcome, ...]:
    """Read each file; the first of equal ones has the records, and named ones may be links."""
    first: dict[str, Path] = {}
    outcomes = []
    for file in files:
        outcome = read_file(file, formats, is_named=file in named)
        if outcome.reading.measurements:
            same = first.setdefault(outcome.run_id, file)
            outcome = replace(outcome, same_as=None if same == file else same)
        outcomes.append(outcome)
    return tuple(outcomes)


def read_file(path: Path, formats: Sequence[Format], *, is_named: bool = False) -> FileOutcome:
    """Read the file in the first format whose shape it has."""
    try:
        document = Document.read(path, is_named=is_named)
    except DamagedFile as damage:
        return FileOutcome(path, refused=str(damage))
    return read_document(document, formats)


def read_document(document: Document, formats: Sequence[Format]) -> FileOutcome:
    """Interpret a document in the first format whose shape it has."""
    outcome = FileOutcome(document.path, document.sha256)
    try:
        format_ = next((format_ for format_ in formats if format_.recognises(document)), None)
        if format_ is None:
            return replace(outcome, refused=_refusal(document, formats))
        outcome = replace(outcome, format=format_.name, source=format_.source)
        return replace(outcome, reading=_marked(format_.read(document), document.path.name))
    except DamagedFile as damage:
        return replace(outcome, refused=str(damage))
    except RecursionError:
        return replace(outcome, refused="it is nested too deeply")


def _marked(reading: Reading, name: str) -> Reading:
    marks = marks_in_name(name)
    if not marks:
        return reading
    measurements = tuple(
        measurement.model_copy(update={"simulated": True, "marks": (*measurement.marks, *marks)})
        for measurement in reading.measurements
    )
    return replace(reading, measurements=measurements)


def _refusal(document: Document, formats: Sequence[Format]) -> str:
    if reason := _not_text(document):
        return reason
    named_json = document.path.suffix == ".json"
    if document.json_fault and (named_json or str(document.text).lstrip().startswith(("{", "["))):
        return document.json_fault
    if len(formats) == 1:
        formats[0].read(document)  # which says what is wrong
        return f"it has not the shape of {formats[0].name}"
    if document.json_fault is None:
        return f"JSON, but of no shape that is known: {_outline(document.json)}"
    return "no format that is known; `--mapping` describes any other CSV or JSON"


def _not_text(document: Document) -> str | None:
    if not document.content.strip():
        return "the file is empty"
    if document.content.startswith(b"PAR1"):
        return "a Parquet file; `orchestrator merge` takes those of AccelMatrix"
    if document.content.startswith(_PACKED):
        return "it is compressed; unpack it first"
    if document.text is None or "\0" in document.text:
        return "it is not text in UTF-8"
    return None


def _outline(data: object) -> str:
    if isinstance(data, dict):
        names = ", ".join(str(name)[:40] for name in list(data)[:6])
        return f"an object with {names}{', …' if len(data) > 6 else ''}" if data else "an empty one"
    if isinstance(data, list):
        return f"a list of {len(data)}" + (f", first {_outline(data[0])}" if data else "")
    return "a bare value"
