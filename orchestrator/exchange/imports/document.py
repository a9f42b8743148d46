"""Documents: the files to import, with text, JSON and CSV read once for every format."""

import codecs
import csv
import hashlib
import io
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from orchestrator.system.problems import quote
from runner.contract.errors import DamagedFile, UsageError
from runner.contract.files import read_plain

LARGEST_BYTES = 2**28
"""Size of the largest file that is read."""
TOP = "/"
"""The location of a whole JSON document."""
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HALF_LETTER = re.compile(r"\\u[dD][89a-fA-F]")


class Document:
    """One file: its bytes, text, JSON and CSV header."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self.content = content

    @classmethod
    def read(
        cls, path: Path, largest_bytes: int = LARGEST_BYTES, *, is_named: bool = False
    ) -> "Document":
        """Read the file; if the user named it, it may be a link."""
        if path.is_dir() and not path.is_symlink():
            raise DamagedFile("it is a folder that cannot be listed")
        try:
            named = path.resolve() if is_named else path
            return cls(path, read_plain(named, largest_bytes, is_named=is_named))
        except DamagedFile as damage:
            raise DamagedFile(f"it {damage}") from damage
        except OSError as error:
            raise DamagedFile(f"cannot be read: {error.strerror or error}") from error

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def text(self) -> str | None:
        """The content as text; None if it is neither UTF-8 nor marked as UTF-16."""
        encoding = "utf-16" if self.content.startswith(_UTF_16) else "utf-8-sig"
        try:
            return self.content.decode(encoding)
        except UnicodeDecodeError:
            return None

    @property
    def json(self) -> Any:
        """The content as JSON; None if it is none (see `json_fault`)."""
        return self._parsed[0]

    @property
    def json_fault(self) -> str | None:
        """The reason why the content is no JSON, with line and column; None if it is JSON."""
        return self._parsed[1]

    def first_line(self, delimiter: str = ",") -> list[str]:
        """The fields of the first line, read as CSV; empty if there is none."""
        lines = csv.reader(io.StringIO(self.text or ""), delimiter=delimiter)
        try:
            return [field.strip() for field in next(lines, [])]
        except csv.Error:
            return []

    @cached_property
    def _parsed(self) -> tuple[Any, str | None]:
        text = self.text or ""
        try:
            value = json.loads(text, object_pairs_hook=_object)
            return writable(value) if _HALF_LETTER.search(text) else value, None
        except json.JSONDecodeError as error:
            return None, f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        except ValueError as error:
            return None, f"not JSON that can be read: {error}"
        except RecursionError:
            return None, "not JSON that can be read: it is nested too deeply"


def files_in(paths: Sequence[Path], without: Sequence[Path] = ()) -> list[Path]:
    """The files under these paths, in order, each once.

    Folders are searched to the bottom; hidden files and folders below them are left out, and
    links to folders are not followed. A folder that cannot be listed is returned itself.
    """
    left_out = {os.path.realpath(path) for path in without}
    files = dict.fromkeys(file for path in paths for file in _files_below(path))
    return [file for file in files if not left_out or os.path.realpath(file) not in left_out]


def link_to(path: Path, roots: Sequence[Path]) -> Path | None:
    """The link by which a file was reached: itself, or the named folder above it."""
    steps = (path, *(root for root in roots if root == path or root in path.parents))
    return next((step for step in steps if step.is_symlink()), None)


def pointer(location: str, *keys: object) -> str:
    """The JSON pointer of a value below another one."""
    steps = (str(key).replace("~", "~0").replace("/", "~1") for key in keys)
    return "/".join(("" if location == TOP else location, *steps))


def last_key(location: str) -> str:
    return location.rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")


def writable(value: Any) -> Any:
    """Replace the characters that cannot be written as UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {writable(key): writable(item) for key, item in value.items()}
    return [writable(item) for item in value] if isinstance(value, list) else value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        twice = next((name for name, value in pairs if data[name] != value), None)
        if twice is not None:
            raise ValueError(f"{quote(twice)} appears twice in one object, with different values")
    return data


def _files_below(path: Path) -> Iterator[Path]:
    if not os.path.lexists(path):
        raise UsageError(f"{path}: no such file or folder", hint="name what is to be imported")
    if not path.is_dir():
        yield path
        return
    unlisted: list[Path] = []
    for folder, folders, names in os.walk(
        path, onerror=lambda error: unlisted.append(Path(error.filename))
    ):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))
    yield from unlisted


@dataclass(frozen=True)
class TableRow:
    """One line's fields by column, or its fault."""

    location: str
    """`line 12`, counted from 1 with the header."""
    cells: dict[str, str]
    fault: str | None = None


def rows_of(document: Document, delimiter: str = ",") -> Iterator[TableRow]:
    """The rows after the header, without empty lines."""
    lines = csv.reader(io.StringIO(document.text or ""), delimiter=delimiter)
    header = column_names(document, delimiter)
    try:
        next(lines, None)
        for fields in lines:
            location = f"line {lines.line_num}"
            if len(fields) == len(header) and any(field.strip() for field in fields):
                yield TableRow(location, dict(zip(header, fields, strict=True)))
            elif any(field.strip() for field in fields):
                fault = f"{location}: {len(fields)} fields stand under {len(header)} columns"
                yield TableRow(location, {}, fault)
    except csv.Error as error:
        raise DamagedFile(f"line {lines.line_num}: not CSV: {error}") from None


def column_names(document: Document, delimiter: str = ",") -> list[str]:
    """The columns that the first line names, each once; none if it is no CSV."""
    header = document.first_line(delimiter)
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise DamagedFile(f"line 1: the column {twice!r} appears twice")
    return header


def parse_boolean(value: object) -> bool | None:
    """True or false, also from text and from 1 and 0; None for null."""
    if value is None:
        return None
    word = str(value).strip().lower()
    if isinstance(value, bool | int | str) and word in _BOOLEANS:
        return _BOOLEANS[word]
    raise ValueError(f"{quote(value)} is neither true nor false")


def parse_time(text: str) -> tuple[datetime, bool]:
    """A time in ISO 8601, with True if it names its zone; else it is taken as UTC."""
    moment = datetime.fromisoformat(text.strip())
    return (moment, True) if moment.tzinfo else (moment.replace(tzinfo=UTC), False)
