"""Hashes of imported rows, to find out which of them changed."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

_VOLATILE = frozenset({"recorded_at", "schema_version", "orchestrator_version", "source_file"})
"""Columns that may differ from one import of a content to the next."""


@dataclass(frozen=True)
class RowContent:
    """The content of one row as a hash."""

    sha: str
    """Hash of all its values but the volatile ones."""
    recorded_at: datetime
    """Time of the import."""
    file: str = ""
    """The file that it was read from."""
    length: int = 0
    """Length of its values as text, in characters."""


RowContents = Mapping[str, RowContent]
"""Rows by cell id."""


def contents_of(table: pa.Table) -> dict[str, RowContent]:
    """Contents of one run's rows by cell id."""
    return dict(zip(table["cell_id"].to_pylist(), _contents(table), strict=True))


def contents_by_run(table: pa.Table) -> dict[str, dict[str, RowContent]]:
    """Contents of several runs' rows by run id and cell id."""
    contents: dict[str, dict[str, RowContent]] = {}
    names = zip(table["run_id"].to_pylist(), table["cell_id"].to_pylist(), strict=True)
    for (run_id, cell_id), content in zip(names, _contents(table), strict=True):
        contents.setdefault(run_id, {})[cell_id] = content
    return contents


def same_contents(one: RowContents, other: RowContents) -> bool:
    """True if both have the same rows, whenever they were imported."""
    return _hashes(one) == _hashes(other)


def is_less_informative(one: RowContents, other: RowContents) -> bool:
    """True if the files have different names, and the first says no more than the second.

    For duplicate files, the reading under the more informative name is kept.
    """
    return (
        bool(other)
        and not same_contents(one, other)
        and _files(one) != _files(other)
        and _length(one) <= _length(other)
    )


def _hashes(contents: RowContents) -> dict[str, str]:
    return {cell: content.sha for cell, content in contents.items()}


def _files(contents: RowContents) -> set[str]:
    return {content.file for content in contents.values()}


def _length(contents: RowContents) -> int:
    return sum(content.length for content in contents.values())


def _contents(table: pa.Table) -> Iterator[RowContent]:
    names = sorted({*table.column_names} - _VOLATILE)
    filled = [name for name in names if table[name].null_count < table.num_rows]
    rows = zip(*(_texts(name, table[name]) for name in filled), strict=True)
    imports = zip(table["recorded_at"].to_pylist(), table["source_file"].to_pylist(), strict=True)
    for row, (moment, file) in zip(rows, imports, strict=True):
        values = "\n".join(text for text in row if text is not None)
        sha = hashlib.sha256(values.encode()).hexdigest()
        yield RowContent(sha, moment.astimezone(UTC), file, len(values))


def _texts(name: str, column: pa.ChunkedArray) -> Iterator[str | None]:
    """Each value of a column with its name, None if it is empty; equal values are encoded once."""
    if pa.types.is_map(column.type):
        return (_text(name, value and dict(value)) for value in column.to_pylist())
    if pa.types.is_nested(column.type):
        return (_text(name, value) for value in column.to_pylist())
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())  # some files have moments that Python cannot name
    encoded = column.combine_chunks().dictionary_encode()
    texts = [_text(name, value) for value in encoded.dictionary.to_pylist()]
    return (None if index is None else texts[index] for index in encoded.indices.to_pylist())


def _text(name: str, value: object) -> str | None:
    if value in (None, [], {}):
        return None
    return f"{name} {_JSON.encode(value)}"


_JSON = json.JSONEncoder(sort_keys=True)
