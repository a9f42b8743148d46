"""Compaction: the record files of a run, of one row each, become one file without any loss."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.store.records.validate import read_validated
from orchestrator.system.files import REMEDY, file_hint
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


@dataclass(frozen=True)
class _SoundRecords:
    """A run's sound record files."""

    loose: Mapping[Path, pa.Table]
    """Files of one row."""
    compact: Mapping[Path, pa.Table]
    """Files of an earlier compaction."""

    @property
    def rows(self) -> dict[str, pa.Table]:
        """A table of one row for each cell; a file of its own outweighs a compact one."""
        held = (table.slice(at, 1) for table in self.compact.values() for at in range(len(table)))
        return {_value(row, "cell_id"): row for row in (*held, *self.loose.values())}

    @property
    def size_bytes(self) -> int:
        return sum(path.stat().st_size for path in (*self.loose, *self.compact))


def compact_files(records: Path) -> list[Path]:
    return sorted(path for path in records.glob("compact-*") if _NAME.fullmatch(path.name))


def compact(
    records: Path, run_id: str, planned: Collection[str], *, dry_run: bool = False
) -> Compaction | None:
    """Put all records of a finished run into one file; None if they are so already.

    Records with other columns, as other versions write them, get a file of their own. The old
    files go once the new one has been read back and says the same.
    """
    sound = _read_sound(records, run_id, frozenset(planned))
    lacking = len(set(planned) - sound.rows.keys())
    if lacking:
        raise DamagedFile(f"{lacking} of {len(planned)} cells have no sound record yet")
    if not sound.loose:
        if not dry_run:
            _remove_empty(records)
        return None
    before = sound.size_bytes
    if dry_run:
        return Compaction(len(sound.loose), before, None)
    try:
        written = [_write(records, group) for group in _by_columns(sound.rows.values())]
        sync(records)
        for path in {*sound.compact, *sound.loose} - set(written):
            path.unlink(missing_ok=True)
        _remove_empty(records)
    except OSError as error:
        raise StoreError(
            f"{records}: cannot be compacted: {error.strerror or error}",
            hint=file_hint(error, f"nothing was lost; {REMEDY}, then try again"),
        ) from error
    return Compaction(len(sound.loose), before, sum(path.stat().st_size for path in written))


def _read_sound(records: Path, run_id: str, planned: Collection[str]) -> _SoundRecords:
    compacted = {}
    for path in compact_files(records):
        try:
            compacted[path] = _read_compact(path, run_id, planned)
        except DamagedFile as damaged:
            raise DamagedFile(f"{path.name}: {damaged}") from damaged
    loose = {}
    for path in sorted(records.glob("*/*.parquet")):
        if path.stem in planned:
            with suppress(DamagedFile):
                loose[path] = read_validated(path)
    ours = {path: table for path, table in loose.items() if _is_record(path, table, run_id)}
    return _SoundRecords(ours, compacted)


def _read_compact(path: Path, run_id: str, planned: Collection[str]) -> pa.Table:
    """The rows of an earlier compaction, all of them of this run's planned cells."""
    table = read_validated(path)
    for row in table.select(["run_id", "cell_id"]).to_pylist():
        if row["run_id"] != run_id or row["cell_id"] not in planned:
            raise DamagedFile(f"holds a record of {row['run_id']}/{row['cell_id']}")
    return table


def _is_record(path: Path, table: pa.Table, run_id: str) -> bool:
    """True if the file holds the record that a runner of this run left for one cell."""
    expected = (run_id, path.parent.name, path.stem)
    return len(table) == 1 and tuple(_value(table, name) for name in _IDS) == expected


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
    pairs: Sequence[tuple[pa.ChunkedArray, pa.ChunkedArray]] = list(
        zip(left.columns, right.columns, strict=True)
    )
    return all(
        one.equals(other) or repr(one.to_pylist()) == repr(other.to_pylist())
        for one, other in pairs
    )


def _remove_empty(records: Path) -> None:
    """Remove the folders of jobs that left no more than records."""
    for folder in filter(Path.is_dir, records.iterdir()):
        with suppress(OSError):  # logs and traces stay, and so do their folders
            folder.rmdir()


def _value(table: pa.Table, column: str) -> str:
    return str(table[column][0].as_py())
