"""A file that may hold measurements, read once for every format that looks at it."""

import csv
import hashlib
import io
import json
from functools import cached_property
from pathlib import Path
from typing import Any


class Document:
    """One file's bytes, and what they parse to."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self.content = content

    @classmethod
    def read(cls, path: Path) -> "Document":
        """Read the file.

        Raises:
            OSError: it cannot be read.
        """
        return cls(path, path.read_bytes())

    @cached_property
    def sha256(self) -> str:
        """Hash of the content."""
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def text(self) -> str | None:
        """The content as text; None if it is not UTF-8."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None

    @cached_property
    def json(self) -> Any:
        """The content as JSON; None if it is none (see `json_fault`)."""
        try:
            return json.loads(self.text or "")
        except (ValueError, RecursionError):
            return None

    @cached_property
    def json_fault(self) -> str | None:
        """What keeps the content from being JSON, with line and column; None if it is JSON."""
        try:
            json.loads(self.text or "")
        except json.JSONDecodeError as error:
            return f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        except ValueError as error:
            return f"not JSON that can be read: {error}"
        except RecursionError:
            return "not JSON that can be read: it is nested too deeply"
        return None

    @cached_property
    def header(self) -> tuple[str, ...]:
        """The fields of the first line, read as CSV; empty if there is none."""
        lines = csv.reader(io.StringIO(self.text or ""))
        try:
            return tuple(field.strip() for field in next(lines, []))
        except csv.Error:
            return ()
