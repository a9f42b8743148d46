"""Compaction: the record files of a run, of one row each, become one file without any loss."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.store.records.validate import read_validated
from orchestrator.system.files import REMEDY, translate_os_errors
from orchestrator.system.parquet import read_table
from runner.contract.errors import DamagedFile, StoreError
from runner.contract.files import atomic_path, sync
from runner.contract.record.files import (
    drop_empty_columns,
    is_null_if_missing,
    to_table,
    write_records,
)

_IDS = ("run_id", "job_id", "cell_id")
_NAME = re.compile(r"compact-[0-9a-f]{8}\.parquet")


@dataclass(frozen=True)
class Compaction:
    """Result of compacting the records of one run, or its preview."""

    files: int
    """Files of one row that became one."""
    bytes_before: int
    """Size of all its record files before."""
    bytes_after: int | None
    """Size of those after; None if nothing was done."""


def compact_files(records: Path) -> list[Path]:
    return sorted(path for path in records.glob("compact-*") if _NAME.fullmatch(path.name))


def compact(
    records: Path, run_id: str, planned: Collection[str], *, dry_run: bool = False
) -> Compaction | None:
    """Put all records of a finished run into one file; None if they are so already.

    Records with other columns, as other versions write them, get a file of their own. Old files go
    once the new one has been read back and says the same.
    """
    loose = _read_loose(records, run_id, frozenset(planned))
    compacted = {path: _read_compact(path, run_id, planned) for path in compact_files(records)}
    held = (table.slice(at, 1) for table in compacted.values() for at in range(len(table)))
    # A file of its own outweighs a compact one.
    rows = {_value(row, "cell_id"): row for row in (*held, *loose.values())}
    if lacking := len(set(planned) - rows.keys()):
        raise DamagedFile(f"{lacking} of {len(planned)} cells have no sound record yet")
    if not loose:
        if not dry_run:
            _remove_empty(records)
        return None
    before = _size((*loose, *compacted))
    if dry_run:
        return Compaction(len(loose), before, None)
    hint = f"nothing was lost; {REMEDY}, then try again"
    with translate_os_errors(records, "cannot be compacted", hint):
        written = [_write(records, group) for group in _by_columns(rows.values())]
        sync(records)
        for path in {*compacted, *loose} - set(written):
            path.unlink(missing_ok=True)
        _remove_empty(records)
        return Compaction(len(loose), before, _size(written))


def _size(files: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in files)


def _read_loose(records: Path, run_id: str, planned: Collection[str]) -> dict[Path, pa.Table]:
    """The files with the sound record that a runner of this run left for one planned cell."""
    loose = {}
    for path in sorted(records.glob("*/*.parquet")):
        if path.stem in planned:
            with suppress(DamagedFile):
                table, expected = read_validated(path), (run_id, path.parent.name, path.stem)
                if len(table) == 1 and tuple(_value(table, name) for name in _IDS) == expected:
                    loose[path] = table
    return loose


def _read_compact(path: Path, run_id: str, planned: Collection[str]) -> pa.Table:
    try:
        table = read_validated(path)
        for row in table.select(["run_id", "cell_id"]).to_pylist():
            if row["run_id"] != run_id or row["cell_id"] not in planned:
                raise DamagedFile(f"holds a record of {row['run_id']}/{row['cell_id']}")
    except DamagedFile as damaged:
        raise DamagedFile(f"{path.name}: {damaged}") from damaged
    return table


def _by_columns(rows: Iterable[pa.Table]) -> list[pa.Table]:
    """One table for each set of columns with their documentation, sorted by job and cell."""
    groups: dict[bytes, list[pa.Table]] = defaultdict(list)
    completed = map(_completed, rows)
    for row in sorted(completed, key=lambda row: (_value(row, "job_id"), _value(row, "cell_id"))):
        groups[row.schema.serialize().to_pybytes()].append(row)
    tables = (pa.concat_tables(group).combine_chunks() for group in groups.values())
    return [drop_empty_columns(table) for table in tables]


def _completed(row: pa.Table) -> pa.Table:
    """The row with all columns that record files leave out where they are null."""
    known, present = _columns(), frozenset(row.column_names)
    columns = {
        name: (row.schema.field(name), row.column(name))
        if name in present
        else (known.field(name), pa.nulls(len(row), known.field(name).type))
        for name in dict.fromkeys((*known.names, *row.column_names))
        if name in present or is_null_if_missing(name)
    }
    fields, values = zip(*columns.values(), strict=True)
    return pa.table(list(values), pa.schema(fields, row.schema.metadata))


@cache
def _columns() -> pa.Schema:
    """The columns of records as they are read: parts of their types have other names then."""
    content = BytesIO()
    write_records(to_table([]), content)
    return pa.ipc.read_schema(pq.read_schema(BytesIO(content.getvalue())).serialize())


def _write(records: Path, table: pa.Table) -> Path:
    """Write a file whose name follows from its columns."""
    columns = hashlib.sha256(table.schema.serialize().to_pybytes()).hexdigest()[:8]
    path = records / f"compact-{columns}.parquet"
    with atomic_path(path) as unfinished:
        with unfinished.open("wb") as file:
            write_records(table, file)
        if not same_table(table, read_table(unfinished)):
            raise StoreError(
                f"{unfinished}: does not read back as it was written",
                hint="nothing was lost; see that disk and memory are sound",
            )
    return path


def same_table(left: pa.Table, right: pa.Table) -> bool:
    """True if rows, columns and metadata agree; NaN equals NaN here."""
    if not left.schema.equals(right.schema, check_metadata=True):
        return False
    return all(
        one.equals(other) or repr(one.to_pylist()) == repr(other.to_pylist())
        for one, other in zip(left.columns, right.columns, strict=True)
    )


def _remove_empty(records: Path) -> None:
    for folder in filter(Path.is_dir, records.iterdir()):
        with suppress(OSError):  # logs and traces stay, and so do their folders
            folder.rmdir()


def _value(table: pa.Table, column: str) -> str:
    return str(table[column][0].as_py())
