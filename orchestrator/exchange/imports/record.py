"""Records of imported measurements, with their origin and no proof: files and hashes of them."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from orchestrator.exchange.imports.document import writable
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.outcome import FileOutcome
from orchestrator.store.records.kept import runs_in, runs_metadata
from orchestrator.store.schema.parquet_columns import DEFAULTS
from orchestrator.store.schema.sources import Origin, Run
from orchestrator.system.files import IMPORTS_FOLDER, REMEDY, translate_os_errors
from orchestrator.system.parquet import UNREADABLE, read_table
from runner import __version__
from runner.contract.errors import DamagedFile
from runner.contract.files import atomic_file
from runner.contract.reasons import Reason, reason, reason_columns
from runner.contract.record.files import arrow_schema, write_records
from runner.contract.record.ids import digest
from runner.contract.record.record import SCHEMA_VERSION

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


_HARDWARE = (
    *("device_name", "cpu_model", "cpu_cores_physical", "cpu_cores_logical"),
    *("memory_total_bytes", "machine"),
)
_ENVIRONMENT = ("operating_system", "python_version", "libraries")
_HINT = f"{REMEDY}, then import again; nothing was written"
LAUNCHER = "import"
"""The launcher in records of imports."""
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


def records_table(outcome: FileOutcome, recorded_at: datetime) -> pa.Table:
    """One row for each measurement and failure of the file, with the columns of `IMPORT_SCHEMA`."""
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
    shared = {**_file_columns(outcome), **_import_columns(outcome, recorded_at)}
    for measurement in outcome.reading.measurements:
        locations[measurement.location] += 1
        yield {
            **{name: getattr(measurement, name) for name in measurement.model_fields_set - _OWN},
            **reason_columns("reason", _said(measurement)),
            **shared,
            **_origin_columns(measurement),
            "cell_id": _cell_id(measurement, locations[measurement.location]),
            "hardware_id": _facts_id(measurement, _HARDWARE),
            "environment_id": _facts_id(measurement, _ENVIRONMENT),
        }


def _said(measurement: ImportedMeasurement) -> Reason | None:
    return None if measurement.reason is None else reason("imported", text=measurement.reason)


def _import_columns(outcome: FileOutcome, recorded_at: datetime) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": outcome.run_id,
        "job_id": outcome.format,
        "recorded_at": recorded_at,
        "proof": "none",
        "launcher": LAUNCHER,
        "orchestrator_version": __version__,
    }


def _file_columns(outcome: FileOutcome) -> dict[str, Any]:
    return {
        "source": outcome.source or "",
        "source_format": outcome.format,
        "source_file": writable(str(outcome.path)),
        "source_sha256": outcome.sha256,
    }


def _origin_columns(measurement: ImportedMeasurement) -> dict[str, Any]:
    return {
        "source_place": measurement.location,
        "source_measured_at": measurement.measured_at,
        "simulated": measurement.simulated,
        "marks": measurement.marks or None,
        "details": measurement.details or None,
    }


def _cell_id(measurement: ImportedMeasurement, occurrence: int) -> str:
    values = (getattr(measurement, name) for name in _IN_ID)
    axes = "-".join(str(value) for value in values if value is not None)
    readable = _NOT_IN_ID.sub("_", axes)[:_ID_LENGTH]
    return f"{readable}-{digest(f'{measurement.location} ({occurrence})')[:12]}"


def _facts_id(measurement: ImportedMeasurement, facts: Sequence[str]) -> str | None:
    known = [(name, value) for name in facts if (value := getattr(measurement, name))]
    return _id(tuple((name, _hashable(value)) for name, value in known)) if known else None


def _hashable(value: Any) -> Any:
    return tuple(sorted(value.items())) if isinstance(value, dict) else value


@lru_cache(maxsize=100)
def _id(facts: tuple[tuple[str, Any], ...]) -> str:
    values = {name: dict(value) if isinstance(value, tuple) else value for name, value in facts}
    return digest(json.dumps(values, sort_keys=True))


def records_path(results: Path, run_id: str) -> Path:
    """Path of an import's records in the results folder."""
    return results / IMPORTS_FOLDER / f"{run_id}.parquet"


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


def read_run(path: Path) -> Run | None:
    """The run in the metadata of a file of one import; None if it is no such file."""
    try:
        runs = runs_in(path)
    except DamagedFile:
        return None
    return runs[0] if [run.run_id for run in runs] == [path.stem] else None
