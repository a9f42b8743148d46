"""What rows of others say, as hashes: two readings of a file are the same if theirs are."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from runner.contract.errors import UsageError

OF_THE_IMPORT = frozenset({"recorded_at", "schema_version", "orchestrator_version", "source_file"})
"""What may differ from one import of a content to the next."""


@dataclass(frozen=True)
class Content:
    """One row."""

    sha: str
    """Hash of all that it says."""
    recorded_at: datetime
    """When it was imported."""
    file: str = ""
    """The file that it was read from."""
    length: int = 0
    """How much it says, in letters."""


Contents = Mapping[str, Content]
"""Rows by cell id."""


def contents_of(table: pa.Table) -> dict[str, Content]:
    """The rows of one run."""
    return dict(zip(table["cell_id"].to_pylist(), _contents(table), strict=True))


def contents_by_run(table: pa.Table) -> dict[str, dict[str, Content]]:
    """The rows of several runs, by run id."""
    found: dict[str, dict[str, Content]] = {}
    names = zip(table["run_id"].to_pylist(), table["cell_id"].to_pylist(), strict=True)
    for (run_id, cell_id), content in zip(names, _contents(table), strict=True):
        found.setdefault(run_id, {})[cell_id] = content
    return found


def same(one: Contents, other: Contents) -> bool:
    """Whether both have the same rows, whenever they were imported."""
    return {cell: each.sha for cell, each in one.items()} == {
        cell: each.sha for cell, each in other.items()
    }


def tells_less(one: Contents, other: Contents) -> bool:
    """Whether they are of differently named files, and the first says no more than the second.

    Of two readings of one content that is the one under the name that tells less.
    """
    return (
        bool(other)
        and not same(one, other)
        and {each.file for each in one.values()} != {each.file for each in other.values()}
        and sum(each.length for each in one.values()) <= sum(each.length for each in other.values())
    )


def _contents(table: pa.Table) -> Iterator[Content]:
    names = sorted({*table.column_names} - OF_THE_IMPORT)
    told = [name for name in names if table[name].null_count < table.num_rows]
    rows = zip(*(_texts(name, table[name]) for name in told), strict=True)
    around = zip(table["recorded_at"].to_pylist(), table["source_file"].to_pylist(), strict=True)
    for row, (moment, file) in zip(rows, around, strict=True):
        said = "\n".join(text for text in row if text is not None)
        sha = hashlib.sha256(said.encode()).hexdigest()
        yield Content(sha, moment.astimezone(UTC), file, len(said))


def _texts(name: str, column: pa.ChunkedArray) -> Iterator[str | None]:
    """Each value of a column with its name, null where it says nothing; equal ones made once."""
    if pa.types.is_map(column.type):
        return (_text(name, value and dict(value)) for value in column.to_pylist())
    if pa.types.is_nested(column.type):
        return (_text(name, value) for value in column.to_pylist())
    encoded = column.combine_chunks().dictionary_encode()
    texts = [_text(name, value) for value in encoded.dictionary.to_pylist()]
    return (None if index is None else texts[index] for index in encoded.indices.to_pylist())


def _text(name: str, value: object) -> str | None:
    if value in (None, [], {}):
        return None
    return f"{name} {_JSON.encode(value)}"


def _plain(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"{value!r} is not in a record")
    return value.astimezone(UTC).isoformat()


_JSON = json.JSONEncoder(sort_keys=True, default=_plain)


def files_in(paths: Sequence[Path], without: Sequence[Path] = ()) -> list[Path]:
    """The files under these paths, in order, each once.

    Folders are searched to the bottom; hidden files and folders below them are left out, and
    links to folders are not followed. A folder that cannot be listed stands for what is in it.

    Raises:
        UsageError: a path does not exist.
    """
    left_out = {os.path.realpath(path) for path in without}
    found = dict.fromkeys(file for path in paths for file in _files_below(path))
    return [file for file in found if not left_out or os.path.realpath(file) not in left_out]


def link_to(path: Path, roots: Sequence[Path]) -> Path | None:
    """The link by which a file was reached: itself, or the named folder above it."""
    way = (path, *(root for root in roots if root == path or root in path.parents))
    return next((step for step in way if step.is_symlink()), None)


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
