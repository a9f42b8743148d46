"""Records of what others measured: our columns, with where they came from and no proof."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.imports.found import Found
from orchestrator.imports.verdict import Verdict
from orchestrator.store.origin import Origin
from orchestrator.whole_files import storing
from runner import __version__
from runner.record import SCHEMA_VERSION, arrow_schema, digest
from runner.whole_files import write_whole

HARDWARE = (
    *("device_name", "cpu_model", "cpu_cores_physical", "cpu_cores_logical"),
    *("memory_total_bytes", "machine"),
)
ENVIRONMENT = ("operating_system", "python_version", "libraries")
_OWN = {"place", "simulated", "marks", "measured_at", "details"}
_IN_ID = ("backend", "runtime", "model", "precision", "batch_size", "sequence_length", "mode")


def run_id(verdict: Verdict) -> str:
    """The run under which a file's records stand: the same content has the same one."""
    return f"import-{verdict.format}-{verdict.sha256[:12]}"


def rows(verdict: Verdict, recorded_at: datetime) -> list[dict[str, Any]]:
    """A row for each measurement and failure that the file tells."""
    return [_row(verdict, found, recorded_at) for found in verdict.reading.found]


def save(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write them as a record file, whole or not at all.

    Raises:
        StoreError: the file system refused.
    """
    schema = arrow_schema().with_metadata(None)
    for field in arrow_schema(Origin):
        schema = schema.append(field)
    table = pa.Table.from_pylist(list(rows), schema)
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: pq.write_table(table, file, compression="zstd"))


def _row(verdict: Verdict, found: Found, recorded_at: datetime) -> dict[str, Any]:
    told = found.model_dump()
    return {
        **{name: value for name, value in told.items() if name not in _OWN},
        **_origin(verdict, found).model_dump(),
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id(verdict),
        "job_id": verdict.format,
        "cell_id": _cell_id(found),
        "recorded_at": recorded_at,
        "proof": "none",
        "launcher": "import",
        "purpose": "measure",
        "hardware_id": _id_of(found, HARDWARE),
        "environment_id": _id_of(found, ENVIRONMENT),
        "orchestrator_version": __version__,
    }


def _origin(verdict: Verdict, found: Found) -> Origin:
    return Origin(
        source=verdict.source or "",
        source_format=verdict.format,
        source_file=str(verdict.path),
        source_sha256=verdict.sha256,
        source_place=found.place,
        source_measured_at=found.measured_at,
        simulated=found.simulated,
        marks=list(found.marks) or None,
        details=found.details or None,
    )


def _cell_id(found: Found) -> str:
    told = (str(value) for name in _IN_ID if (value := getattr(found, name)) is not None)
    readable = "-".join(told).replace("/", "_").replace(" ", "_")
    return f"{readable}-{digest(found.place)[:8]}"


def _id_of(found: Found, facts: Sequence[str]) -> str | None:
    told = {name: value for name in facts if (value := getattr(found, name))}
    return digest(repr(sorted(told.items()))) if told else None
