"""Records of what others measured: our columns, with where they came from and no proof."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from orchestrator.imports.document import writable
from orchestrator.imports.found import Found
from orchestrator.imports.verdict import Verdict
from orchestrator.store.schema.origin import Origin
from runner import __version__
from runner.record import SCHEMA_VERSION, arrow_schema, digest

HARDWARE = (
    *("device_name", "cpu_model", "cpu_cores_physical", "cpu_cores_logical"),
    *("memory_total_bytes", "machine"),
)
ENVIRONMENT = ("operating_system", "python_version", "libraries")
LAUNCHER = "import"
_OWN = {"place", "simulated", "marks", "measured_at", "details"}
_IN_ID = ("backend", "runtime", "model", "precision", "batch_size", "sequence_length", "mode")
_ID_LENGTH = 120
_NOT_IN_ID = re.compile(r"[^\w.+-]+")
SCHEMA = pa.schema([field.remove_metadata() for field in (*arrow_schema(), *arrow_schema(Origin))])


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
    for found in verdict.reading.found:
        places[found.place] += 1
        cell_id = _cell_id(found, f"{found.place} ({places[found.place]})")
        yield _told(
            {
                **found.model_dump(exclude=_OWN),
                **_origin(verdict, found),
                **_ours(verdict, recorded_at),
                "cell_id": cell_id,
                "hardware_id": _id_of(found, HARDWARE),
                "environment_id": _id_of(found, ENVIRONMENT),
            }
        )


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


def _origin(verdict: Verdict, found: Found) -> dict[str, Any]:
    return Origin(
        source=verdict.source or "",
        source_format=verdict.format,
        source_file=writable(str(verdict.path)),
        source_sha256=verdict.sha256,
        source_place=found.place,
        source_measured_at=found.measured_at,
        simulated=found.simulated,
        marks=list(found.marks),
        details=found.details,
    ).model_dump()


def _cell_id(found: Found, place: str) -> str:
    told = (str(value) for name in _IN_ID if (value := getattr(found, name)) is not None)
    readable = _NOT_IN_ID.sub("_", "-".join(told))[:_ID_LENGTH]
    return f"{readable}-{digest(place)[:12]}"


def _id_of(found: Found, facts: Sequence[str]) -> str | None:
    told = {name: value for name in facts if (value := getattr(found, name))}
    return digest(json.dumps(told, sort_keys=True)) if told else None


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """The row with null in place of lists and maps that hold nothing."""
    return {name: value for name, value in row.items() if value not in ((), [], {})}
