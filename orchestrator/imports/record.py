"""Records of what others measured: our columns, with where they came from and no proof."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.imports.content import Contents, contents_of
from orchestrator.imports.document import writable
from orchestrator.imports.measurement import Found
from orchestrator.imports.outcome import Verdict
from orchestrator.store import DEFAULTS, Origin, Run
from orchestrator.system.files import translate_os_errors
from runner import __version__
from runner.contract.files import atomic_file
from runner.contract.record import (
    SCHEMA_VERSION,
    UNREADABLE,
    arrow_schema,
    digest,
    read_table,
    write_records,
)

HARDWARE = (
    *("device_name", "cpu_model", "cpu_cores_physical", "cpu_cores_logical"),
    *("memory_total_bytes", "machine"),
)
ENVIRONMENT = ("operating_system", "python_version", "libraries")
LAUNCHER = "import"
_OWN = frozenset({"place", "simulated", "marks", "measured_at", "details"})
_IN_ID = ("backend", "runtime", "model", "precision", "batch_size", "sequence_length", "mode")
_ID_LENGTH = 120
_NOT_IN_ID = re.compile(r"[^\w.+-]+")
_ADDED = (
    *("schema_version", "run_id", "job_id", "recorded_at", "proof", "launcher"),
    *("orchestrator_version", "cell_id", "hardware_id", "environment_id"),
)
_WRITTEN = frozenset({*Found.model_fields, *Origin.model_fields, *_ADDED, *DEFAULTS})
SCHEMA = pa.schema(
    field for field in (*arrow_schema(), *arrow_schema(Origin)) if field.name in _WRITTEN
)
"""Of our columns those that can tell of a foreign measurement, and those that the store would give
a default where a file lacks them; it knows the others as null."""


def table_of(verdict: Verdict, recorded_at: datetime) -> pa.Table:
    """A row for each measurement and failure that the file tells, under the columns of `SCHEMA`."""
    rows = list(_rows(verdict, recorded_at))
    told = {name for row in rows for name in row}
    columns = [
        pa.array([row.get(field.name) for row in rows], field.type)
        if field.name in told
        else pa.nulls(len(rows), field.type)
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _rows(verdict: Verdict, recorded_at: datetime) -> Iterator[dict[str, Any]]:
    places: Counter[str] = Counter()
    ours = {**_of_file(verdict), **_ours(verdict, recorded_at)}
    for found in verdict.reading.found:
        places[found.place] += 1
        yield {
            **{name: getattr(found, name) for name in found.model_fields_set - _OWN},
            **ours,
            **_of_entry(found),
            "cell_id": _cell_id(found, f"{found.place} ({places[found.place]})"),
            "hardware_id": _id_of(found, HARDWARE),
            "environment_id": _id_of(found, ENVIRONMENT),
        }


def _ours(verdict: Verdict, recorded_at: datetime) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": verdict.run_id,
        "job_id": verdict.format,
        "recorded_at": recorded_at,
        "proof": "none",
        "launcher": LAUNCHER,
        "orchestrator_version": __version__,
    }


def _of_file(verdict: Verdict) -> dict[str, Any]:
    return {
        "source": verdict.source or "",
        "source_format": verdict.format,
        "source_file": writable(str(verdict.path)),
        "source_sha256": verdict.sha256,
    }


def _of_entry(found: Found) -> dict[str, Any]:
    return {
        "source_place": found.place,
        "source_measured_at": found.measured_at,
        "simulated": found.simulated,
        "marks": found.marks or None,
        "details": found.details or None,
    }


def _cell_id(found: Found, place: str) -> str:
    told = (str(value) for name in _IN_ID if (value := getattr(found, name)) is not None)
    readable = _NOT_IN_ID.sub("_", "-".join(told))[:_ID_LENGTH]
    return f"{readable}-{digest(place)[:12]}"


def _id_of(found: Found, facts: Sequence[str]) -> str | None:
    told = [(name, value) for name in facts if (value := getattr(found, name))]
    return _id(tuple((name, _hashable(value)) for name, value in told)) if told else None


def _hashable(value: Any) -> Any:
    return tuple(sorted(value.items())) if isinstance(value, dict) else value


@lru_cache(maxsize=100)
def _id(facts: tuple[tuple[str, Any], ...]) -> str:
    told = {name: dict(value) if isinstance(value, tuple) else value for name, value in facts}
    return digest(json.dumps(told, sort_keys=True))


FOLDER = "imports"
HINT = "mend that, then import again: no file is half written"
_RUN = b"accelmatrix.run"


def path_of(results: Path, run_id: str) -> Path:
    """Where an import's records lie in the results folder."""
    return results / FOLDER / f"{run_id}.parquet"


def save(table: pa.Table, path: Path, run: Run) -> None:
    """Write records, whole or not at all, with the import that they stand under.

    Raises:
        StoreError: the file system refused.
    """
    table = table.replace_schema_metadata({_RUN: run.model_dump_json().encode()})
    with translate_os_errors(path, hint=HINT):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            write_records(table, file)


def contents_at(path: Path) -> Contents | None:
    """What the file holds; None if there is none, or none that can be read."""
    try:
        return contents_of(read_table(path))
    except UNREADABLE:
        return None


def runs_of(files: Iterable[Path]) -> list[Run]:
    """The imports that wrote these files, of those that tell."""
    found = (_run_at(file) for file in files if file.parent.name == FOLDER)
    return [run for run in found if run is not None]


def _run_at(path: Path) -> Run | None:
    try:
        run = Run.model_validate_json(pq.read_metadata(path).metadata[_RUN])
    except UNREADABLE:
        return None
    return run if run.run_id == path.stem else None
