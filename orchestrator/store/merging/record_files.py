"""Record files: where they are, and what is wrong with one."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from orchestrator.errors import StoreError
from orchestrator.store.file.rows import Row, rows
from orchestrator.store.schema.origin import OURS
from orchestrator.store.schema.tables import REQUIRED
from runner.record import Record, arrow_schema, record_of

_EXPECTED = {field.name: field.type for field in arrow_schema()}
_NEEDED = [name for name, info in Record.model_fields.items() if info.is_required()]
"""What every record of ours has, whichever version of the runner wrote it."""


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The record files under these paths, in order; folders are searched to the bottom.

    Unfinished files (a name that starts with `.` or ends with `.tmp`) are left out, and so is all
    that lies in a folder whose name starts with `.`, such as what `maintain` is about to drop.

    Raises:
        StoreError: one of the paths does not exist.
    """
    found: set[Path] = set()
    for path in paths:
        if path.is_dir():
            found.update(files_below(path))
        elif path.exists():
            found.add(path)
        else:
            raise StoreError(
                f"{path}: no such file or folder",
                hint="name Parquet files, or folders of them such as results/",
            )
    finished = (path for path in found if not path.name.startswith("."))
    return sorted({path.absolute() for path in finished if path.suffix != ".tmp"})


def files_below(folder: Path) -> Iterator[Path]:
    """The Parquet files in the folder and those below it, whatever goes away meanwhile."""
    for place, folders, names in os.walk(folder):
        folders[:] = (name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in names if name.endswith(".parquet"))


def fault(path: Path) -> str | None:
    """What keeps this file from being a record file that can be merged; None if nothing does."""
    try:
        wrong = _shape_fault(pq.read_schema(path))
        if wrong is not None:
            return wrong
        with pa.OSFile(str(path)) as file:
            found = rows(pq.ParquetFile(file).read(use_threads=False))
    except (OSError, pa.ArrowException) as error:
        return f"truncated or not a Parquet file: {_first_line(error)}"
    return next(filter(None, map(_row_fault, found)), None)


def shape_fault(path: Path) -> str | None:
    """What is wrong with this file's columns, whatever its rows are."""
    try:
        return _shape_fault(pq.read_schema(path))
    except (OSError, pa.ArrowException) as error:
        return f"truncated or not a Parquet file: {_first_line(error)}"


def _shape_fault(schema: pa.Schema) -> str | None:
    found = {field.name: field.type for field in schema}
    if "cell_id" not in found:
        return "a Parquet file, but not of AccelMatrix: it has no column cell_id"
    for name, type_ in _EXPECTED.items():
        if found.get(name, type_) != type_:
            return f"column {name} holds {found[name]}, not {type_}"
    needed = REQUIRED if "source" in found else _NEEDED
    lacking = sorted(set(needed) - found.keys())
    return f"lacks the columns {lacking}" if lacking else None


def _row_fault(row: Row) -> str | None:
    if row.get("source", OURS) != OURS:
        lacking = [name for name in REQUIRED if row.get(name) is None]
        return f"{lacking[0]}: is null" if lacking else None
    try:
        record_of(row)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return f"{place}: {first['input']!r}: {first['msg']}"
    return None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
