"""Records of imports, with their origin and no proof: rows, their hashes, and files.

`database compact` packs them in one file, from which one is taken out before it is changed.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from orchestrator.exchange.imports.document import writable
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.outcome import FileOutcome
from orchestrator.store.records.compact import Compaction, same_table
from orchestrator.store.records.kept import KEPT_SUFFIX, runs_in, runs_metadata
from orchestrator.store.schema.parquet_columns import DEFAULTS
from orchestrator.store.schema.sources import Origin, Run
from orchestrator.system.files import IMPORTS_FOLDER, PACKED_IMPORTS, REMEDY, translate_os_errors
from orchestrator.system.parquet import UNREADABLE, read_table
from runner import __version__
from runner.contract.errors import DamagedFile
from runner.contract.files import atomic_file
from runner.contract.reasons import reason, reason_columns
from runner.contract.record.files import arrow_schema, drop_empty_columns, write_records
from runner.contract.record.ids import digest
from runner.contract.record.record import SCHEMA_VERSION

LAUNCHER = "import"
"""The launcher in records of imports."""
_VOLATILE = frozenset({"recorded_at", "schema_version", "orchestrator_version", "source_file"})
"""Columns that may differ from one import of a content to the next."""
_HARDWARE = (
    *("device_name", "cpu_model", "cpu_cores_physical", "cpu_cores_logical"),
    *("memory_total_bytes", "machine"),
)
_ENVIRONMENT = ("operating_system", "python_version", "libraries")
_OWN = frozenset({"location", "simulated", "marks", "measured_at", "details", "reason"})
_IN_ID = ("backend", "runtime", "model", "precision", "batch_size", "sequence_length", "mode")
_ID_LENGTH = 120
_NOT_IN_ID = re.compile(r"[^\w.+-]+")
_ADDED = (
    *("schema_version", "run_id", "job_id", "recorded_at", "proof", "launcher"),
    *("orchestrator_version", "cell_id", "hardware_id", "environment_id"),
    *("reason_code", "reason_facts"),
)
_WRITTEN = frozenset({*ImportedMeasurement.model_fields, *Origin.model_fields, *_ADDED, *DEFAULTS})
IMPORT_SCHEMA = pa.schema(
    field for field in (*arrow_schema(), *arrow_schema(Origin)) if field.name in _WRITTEN
)
"""Columns that an import can fill, and those that the store would give a default where a file lacks
them; the store knows the others as null."""
_JSON = json.JSONEncoder(sort_keys=True)
_HINT = f"{REMEDY}, then import again; nothing was written"
_DAMAGED = "the database has its records; remove it, then import its sources again"
_ORDER = [("run_id", "ascending"), ("cell_id", "ascending")]


def records_table(outcome: FileOutcome, recorded_at: datetime) -> pa.Table:
    rows = list(_rows(outcome, recorded_at))
    filled = {name for row in rows for name in row}
    columns = [
        pa.array([row.get(field.name) for row in rows], field.type)
        if field.name in filled
        else pa.nulls(len(rows), field.type)
        for field in IMPORT_SCHEMA
    ]
    return pa.Table.from_arrays(columns, schema=IMPORT_SCHEMA)


def _rows(outcome: FileOutcome, recorded_at: datetime) -> Iterator[dict[str, Any]]:
    locations: Counter[str] = Counter()
    shared = {
        "source": outcome.source or "",
        "source_format": outcome.format,
        "source_file": writable(str(outcome.path)),
        "source_sha256": outcome.sha256,
        "schema_version": SCHEMA_VERSION,
        "run_id": outcome.run_id,
        "job_id": outcome.format,
        "recorded_at": recorded_at,
        "proof": "none",
        "launcher": LAUNCHER,
        "orchestrator_version": __version__,
    }
    for measurement in outcome.reading.measurements:
        locations[measurement.location] += 1
        text = measurement.reason
        yield {
            **{name: getattr(measurement, name) for name in measurement.model_fields_set - _OWN},
            **reason_columns("reason", None if text is None else reason("imported", text=text)),
            **shared,
            "source_place": measurement.location,
            "source_measured_at": measurement.measured_at,
            "simulated": measurement.simulated,
            "marks": measurement.marks or None,
            "details": measurement.details or None,
            "cell_id": _cell_id(measurement, locations[measurement.location]),
            "hardware_id": _facts_id(measurement, _HARDWARE),
            "environment_id": _facts_id(measurement, _ENVIRONMENT),
        }


def _cell_id(measurement: ImportedMeasurement, occurrence: int) -> str:
    values = (getattr(measurement, name) for name in _IN_ID)
    axes = "-".join(str(value) for value in values if value is not None)
    readable = _NOT_IN_ID.sub("_", axes)[:_ID_LENGTH]
    return f"{readable}-{digest(f'{measurement.location} ({occurrence})')[:12]}"


def _facts_id(measurement: ImportedMeasurement, names: Sequence[str]) -> str | None:
    facts = {name: value for name in names if (value := getattr(measurement, name))}
    return digest(json.dumps(facts, sort_keys=True)) if facts else None


@dataclass(frozen=True)
class RowContent:
    """The content of one row as a hash."""

    sha: str
    recorded_at: datetime
    file: str = ""
    length: int = 0


RowContents = Mapping[str, RowContent]
"""Rows by cell id."""


def contents_of(table: pa.Table) -> dict[str, RowContent]:
    return dict(zip(table["cell_id"].to_pylist(), _contents(table), strict=True))


def contents_by_run(table: pa.Table) -> dict[str, dict[str, RowContent]]:
    contents: dict[str, dict[str, RowContent]] = {}
    names = zip(table["run_id"].to_pylist(), table["cell_id"].to_pylist(), strict=True)
    for (run_id, cell_id), content in zip(names, _contents(table), strict=True):
        contents.setdefault(run_id, {})[cell_id] = content
    return contents


def same_contents(one: RowContents, other: RowContents) -> bool:
    """True if both have the same rows, whenever they were imported."""
    return one.keys() == other.keys() and all(one[cell].sha == other[cell].sha for cell in one)


def is_less_informative(one: RowContents, other: RowContents) -> bool:
    """True if the first says no more than the second, under another file name: that is kept."""
    both = (one.values(), other.values())
    files, other_files = ({content.file for content in contents} for contents in both)
    length, other_length = (sum(content.length for content in contents) for contents in both)
    differ = files != other_files and not same_contents(one, other)
    return bool(other) and differ and length <= other_length


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
    return None if value in (None, [], {}) else f"{name} {_JSON.encode(value)}"


def records_path(results: Path, run_id: str) -> Path:
    return results / IMPORTS_FOLDER / f"{run_id}.parquet"


def packed_path(results: Path) -> Path:
    """The file with the records of many imports, whether it is there or not."""
    return results / IMPORTS_FOLDER / PACKED_IMPORTS


def save_records(table: pa.Table, path: Path, run: Run) -> None:
    """Write the records of an import atomically, with its run in the file's metadata."""
    table = table.replace_schema_metadata(runs_metadata([run]))
    with translate_os_errors(path, hint=_HINT):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            write_records(table, file)


def read_contents(path: Path) -> RowContents | None:
    """The contents of a file's rows; None if there is no file, or none that can be read."""
    try:
        return contents_of(read_table(path))
    except UNREADABLE:
        return None


def read_runs(files: Iterable[Path]) -> list[Run]:
    """The runs that the metadata of sound files of imports and kept records describe."""
    runs: list[Run] = []
    for file in files:
        if file.parent.name == IMPORTS_FOLDER or file.parent.name.endswith(KEPT_SUFFIX):
            with suppress(DamagedFile):  # as whoever reads its records says
                runs += runs_in(file)
    return runs


def packed_contents(results: Path) -> Mapping[str, RowContents]:
    packed = packed_path(results)
    return contents_by_run(_read_packed(packed)) if packed.is_file() else {}


def packed_runs(path: Path) -> list[Run]:
    """The runs whose records a packed file holds; none if it is no such file."""
    if path.name != PACKED_IMPORTS or path.parent.name != IMPORTS_FOLDER or not path.is_file():
        return []
    try:
        return runs_in(path)
    except DamagedFile as error:
        raise DamagedFile(str(error), hint=_DAMAGED) from error


def pack(results: Path, *, dry_run: bool = False) -> Compaction | None:
    """Pack all imports together, and read the file back before the single ones go."""
    packed = packed_path(results)
    paths = sorted(path for path in packed.parent.glob("[!.]*.parquet") if path.is_file())
    described = {path: read_runs([path]) for path in paths if path != packed}
    single = {
        path: runs[0]
        for path, runs in described.items()
        if [run.run_id for run in runs] == [path.stem]
    }
    if not single:
        return None
    files = [*single, *([packed] if packed.exists() else [])]
    before = sum(path.stat().st_size for path in files)
    if dry_run:
        return Compaction(len(single), before, None)
    fresh = {run.run_id for run in single.values()}
    older = [run for run in packed_runs(packed) if run.run_id not in fresh]
    tables = [read_table(path) for path in single]
    _write_packed(packed, [*_tables(packed, older), *tables], [*older, *single.values()])
    with translate_os_errors(packed, hint=REMEDY):
        for path in single:
            path.unlink()
    return Compaction(len(single), before, packed.stat().st_size)


def take_out(results: Path, run_id: str) -> Path | None:
    """Give an import that is packed a file of its own again; None if it is not packed."""
    packed = packed_path(results)
    runs = {run.run_id: run for run in packed_runs(packed)}
    if run_id not in runs:
        return None
    path = records_path(results, run_id)
    if not path.exists():  # else it is newer than what is packed
        (table,) = _tables(packed, [runs[run_id]])
        save_records(table, path, runs[run_id])
    if rest := [run for run in runs.values() if run.run_id != run_id]:
        _write_packed(packed, _tables(packed, rest), rest)
    else:
        with translate_os_errors(packed, hint=REMEDY):
            packed.unlink()
    return path


def _tables(packed: Path, runs: Sequence[Run]) -> list[pa.Table]:
    if not runs:
        return []
    table = _read_packed(packed)
    names = pa.array([run.run_id for run in runs])
    return [table.filter(pa.compute.is_in(table["run_id"], value_set=names))]


def _read_packed(packed: Path) -> pa.Table:
    try:
        return read_table(packed)
    except UNREADABLE as error:
        reason = str(error).splitlines()[0]
        raise DamagedFile(f"{packed}: cannot be read: {reason}", hint=_DAMAGED) from error


def _write_packed(packed: Path, tables: Sequence[pa.Table], runs: Sequence[Run]) -> None:
    joined = pa.concat_tables(tables, promote_options="default").sort_by(_ORDER)
    rows = drop_empty_columns(joined.combine_chunks())
    table = rows.replace_schema_metadata(runs_metadata(runs))
    with translate_os_errors(packed, hint=REMEDY), atomic_file(packed) as file:
        write_records(table, file)
        file.flush()
        if not same_table(table, read_table(Path(file.name))):
            raise DamagedFile(f"{packed}: does not read back as it was written")
