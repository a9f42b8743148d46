"""The records of many imports in one file: `imports/packed.parquet`.

A file of a few rows is mostly the names of its columns. So `database compact` packs imports
together, with the runs that they are in the file's metadata. Whoever changes or drops one import
takes it out first, into a file of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from orchestrator.exchange.imports.record import (
    RowContents,
    contents_by_run,
    read_run,
    records_path,
    save_records,
)
from orchestrator.store.records.compact import Compaction, same_table
from orchestrator.store.records.kept import KEPT_SUFFIX, runs_in, runs_metadata
from orchestrator.store.schema.sources import Run
from orchestrator.system.files import IMPORTS_FOLDER, PACKED_IMPORTS, REMEDY, translate_os_errors
from orchestrator.system.parquet import UNREADABLE, read_table
from runner.contract.errors import DamagedFile
from runner.contract.files import atomic_file
from runner.contract.record.files import drop_empty_columns, write_records

_DAMAGED = "the database has its records; remove it, then import its sources again"
_ORDER = (("run_id", "ascending"), ("cell_id", "ascending"))


def packed_path(results: Path) -> Path:
    """The file with the records of many imports, whether it is there or not."""
    return results / IMPORTS_FOLDER / PACKED_IMPORTS


def packed_runs(path: Path) -> list[Run]:
    """The runs whose records a packed file holds; none if it is no such file."""
    if path.name != PACKED_IMPORTS or path.parent.name != IMPORTS_FOLDER or not path.is_file():
        return []
    try:
        return runs_in(path)
    except DamagedFile as error:
        raise DamagedFile(str(error), hint=_DAMAGED) from error


def read_runs(files: Iterable[Path]) -> list[Run]:
    """The runs that the metadata of sound files of imports and kept records describe."""
    runs: list[Run] = []
    for file in files:
        if file.parent.name == IMPORTS_FOLDER or file.parent.name.endswith(KEPT_SUFFIX):
            with suppress(DamagedFile):  # as whoever reads its records says
                runs += runs_in(file)
    return runs


def packed_contents(results: Path) -> Mapping[str, RowContents]:
    """The contents of the rows of all packed imports, by run id."""
    packed = packed_path(results)
    return contents_by_run(_read(packed)) if packed.is_file() else {}


def pack(results: Path, *, dry_run: bool = False) -> Compaction | None:
    """Pack all imports together; None if there is nothing to pack.

    The single files go once the packed one has been read back and says the same.

    Raises:
        DamagedFile: the packed file is there and cannot be read.
        StoreError: the file system refuses.
    """
    packed = packed_path(results)
    single = {path: run for path in _single_files(results) if (run := read_run(path))}
    if not single:
        return None
    files = [*single, *([packed] if packed.exists() else [])]
    before = sum(path.stat().st_size for path in files)
    if dry_run:
        return Compaction(len(single), before, None)
    fresh = {run.run_id for run in single.values()}
    older = [run for run in packed_runs(packed) if run.run_id not in fresh]
    tables = [read_table(path) for path in single]
    _write(packed, [*_tables(packed, older), *tables], [*older, *single.values()])
    with translate_os_errors(packed, hint=REMEDY):
        for path in single:
            path.unlink()
    return Compaction(len(single), before, packed.stat().st_size)


def take_out(results: Path, run_id: str) -> Path | None:
    """Give an import that is packed a file of its own again; None if it is not packed.

    Raises:
        DamagedFile: the packed file cannot be read.
        StoreError: the file system refuses.
    """
    packed = packed_path(results)
    runs = {run.run_id: run for run in packed_runs(packed)}
    if run_id not in runs:
        return None
    path = records_path(results, run_id)
    if not path.exists():  # else it is newer than what is packed
        (table,) = _tables(packed, [runs[run_id]])
        save_records(table, path, runs[run_id])
    rest = [run for run in runs.values() if run.run_id != run_id]
    if rest:
        _write(packed, _tables(packed, rest), rest)
    else:
        with translate_os_errors(packed, hint=REMEDY):
            packed.unlink()
    return path


def _single_files(results: Path) -> Sequence[Path]:
    paths = packed_path(results).parent.glob("[!.]*.parquet")
    return sorted(path for path in paths if path.name != PACKED_IMPORTS and path.is_file())


def _tables(packed: Path, runs: Sequence[Run]) -> list[pa.Table]:
    """The rows of these runs in the packed file."""
    if not runs:
        return []
    table = _read(packed)
    names = pa.array([run.run_id for run in runs])
    return [table.filter(pa.compute.is_in(table["run_id"], value_set=names))]


def _read(packed: Path) -> pa.Table:
    try:
        return read_table(packed)
    except UNREADABLE as error:
        reason = str(error).splitlines()[0]
        raise DamagedFile(f"{packed}: cannot be read: {reason}", hint=_DAMAGED) from error


def _write(packed: Path, tables: Sequence[pa.Table], runs: Sequence[Run]) -> None:
    joined = pa.concat_tables(tables, promote_options="default").sort_by([*_ORDER])
    rows = drop_empty_columns(joined.combine_chunks())
    table = rows.replace_schema_metadata(runs_metadata(runs))
    with translate_os_errors(packed, hint=REMEDY), atomic_file(packed) as file:
        write_records(table, file)
        file.flush()
        if not same_table(table, read_table(Path(file.name))):
            raise DamagedFile(f"{packed}: does not read back as it was written")
