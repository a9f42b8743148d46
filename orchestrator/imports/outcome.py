"""What became of one file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from orchestrator.imports.document import Document, Unreadable
from orchestrator.imports.formats.base import Format, NotReadable, Reading
from orchestrator.imports.marks import marks_in_name
from runner.contract.record import digest

Kind = Literal["records", "same content", "no measurement", "not recognised"]
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")
TOO_DEEP = "it is nested too deeply"
NO_VALUE = "no entry has a measured value"


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
    same_as: Path | None = None
    """The file before it with the same content, whose records stand for both."""

    @property
    def kind(self) -> Kind:
        """What became of it."""
        if self.refused is not None:
            return "not recognised"
        if not self.reading.found:
            return "no measurement"
        return "records" if self.same_as is None else "same content"

    @property
    def outcome(self) -> str:
        """The same in words."""
        if self.refused is not None:
            return f"not recognised: {self.refused}"
        if not self.reading.found:
            return f"holds no measurement: {self.reading.nothing or NO_VALUE}"
        if self.same_as is not None:
            return f"same content as {self.same_as}"
        count = len(self.reading.found)
        return f"{count} record{'s' if count > 1 else ''}"

    @property
    def run_id(self) -> str:
        """The run under which its records stand: the same content has the same one."""
        rests_on = "\n".join((self.sha256, *self.reading.beside))
        return f"import-{digest(rests_on)}"


def judge_all(files: Iterable[Path], formats: Sequence[Format]) -> tuple[Verdict, ...]:
    """What would become of each file; of those with the same records, the first has them."""
    first: dict[str, Path] = {}
    verdicts = []
    for file in files:
        verdict = judge(file, formats)
        if verdict.reading.found:
            same = first.setdefault(verdict.run_id, file)
            verdict = replace(verdict, same_as=None if same == file else same)
        verdicts.append(verdict)
    return tuple(verdicts)


def judge(path: Path, formats: Sequence[Format]) -> Verdict:
    """Read the file in the first format whose shape it has."""
    try:
        document = Document.read(path)
    except Unreadable as reason:
        return Verdict(path, refused=str(reason))
    return judge_document(document, formats)


def judge_document(document: Document, formats: Sequence[Format]) -> Verdict:
    """The same for what was read already."""
    try:
        each = next((each for each in formats if each.recognises(document)), None)
        if each is None:
            return Verdict(document.path, document.sha256, refused=_why(document, formats))
        return _read(document, each)
    except RecursionError:
        return Verdict(document.path, document.sha256, refused=TOO_DEEP)


def _read(document: Document, each: Format) -> Verdict:
    verdict = Verdict(document.path, document.sha256, each.name, each.source)
    try:
        return replace(verdict, reading=_marked(each.read(document), document.path.name))
    except NotReadable as reason:
        return replace(verdict, refused=str(reason))


def _marked(reading: Reading, name: str) -> Reading:
    """The reading with the mark that the file's name is."""
    marks = marks_in_name(name)
    if not marks:
        return reading
    return replace(
        reading,
        found=tuple(
            each.model_copy(update={"simulated": True, "marks": (*each.marks, *marks)})
            for each in reading.found
        ),
    )


def _why(document: Document, formats: Sequence[Format]) -> str:
    if unfit := _unfit(document):
        return unfit
    if document.json_fault and _looks_like_json(document):
        return document.json_fault
    if len(formats) == 1:
        return _reason_of(formats[0], document)
    if document.json_fault is None:
        return f"JSON, but of no shape that is known: {_outline(document.json)}"
    return "no format that is known; `--mapping` describes any other CSV or JSON"


def _unfit(document: Document) -> str | None:
    if not document.content.strip():
        return "the file is empty"
    if document.content.startswith(b"PAR1"):
        return "a Parquet file; `orchestrator merge` takes those of AccelMatrix"
    if document.content.startswith(_PACKED):
        return "it is compressed; unpack it first"
    if document.text is None or "\0" in document.text:
        return "it is not text in UTF-8"
    return None


def _reason_of(only: Format, document: Document) -> str:
    """What the one format that was asked has to say."""
    try:
        only.read(document)
    except NotReadable as reason:
        return str(reason)
    return f"it has not the shape of {only.name}"


def _looks_like_json(document: Document) -> bool:
    return document.path.suffix == ".json" or (document.text or "").lstrip().startswith(("{", "["))


def _outline(data: object) -> str:
    if isinstance(data, dict):
        names = ", ".join(str(name)[:40] for name in list(data)[:6])
        return f"an object with {names}{', …' if len(data) > 6 else ''}" if data else "an empty one"
    if isinstance(data, list):
        return f"a list of {len(data)}" + (f", first {_outline(data[0])}" if data else "")
    return "a bare value"
