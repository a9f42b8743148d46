"""What rows of others say, as hashes: two readings of a file are the same if theirs are."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from orchestrator.store.file.rows import rows

OF_THE_IMPORT = frozenset({"recorded_at", "schema_version", "orchestrator_version", "source_file"})
"""What may differ from one import of a content to the next."""
_NEEDED = frozenset({"run_id", "cell_id", "recorded_at"})


@dataclass(frozen=True)
class Content:
    """One row."""

    sha: str
    """Hash of all that it says."""
    recorded_at: datetime
    """When it was imported."""


Contents = Mapping[str, Content]
"""Rows by cell id."""


def contents_of(table: pa.Table) -> dict[str, Content]:
    """The rows of one run."""
    return {row["cell_id"]: _content(row) for row in rows(_told(table))}


def contents_by_run(table: pa.Table) -> dict[str, dict[str, Content]]:
    """The rows of several runs, by run id."""
    found: dict[str, dict[str, Content]] = {}
    for row in rows(_told(table)):
        found.setdefault(row["run_id"], {})[row["cell_id"]] = _content(row)
    return found


def same(one: Contents, other: Contents) -> bool:
    """Whether both have the same rows, whenever they were imported."""
    return {cell: each.sha for cell, each in one.items()} == {
        cell: each.sha for cell, each in other.items()
    }


def _told(table: pa.Table) -> pa.Table:
    """The columns in which some row says something."""
    return table.select(
        [
            name
            for name in table.column_names
            if name in _NEEDED or table[name].null_count < table.num_rows
        ]
    )


def _content(row: Mapping[str, Any]) -> Content:
    told = {
        name: value
        for name, value in row.items()
        if name not in OF_THE_IMPORT and value not in (None, [], {})
    }
    said = json.dumps(told, sort_keys=True, default=_plain)
    sha = hashlib.sha256(said.encode()).hexdigest()
    return Content(sha, row["recorded_at"].astimezone(UTC))


def _plain(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"{value!r} is not in a record")
    return value.astimezone(UTC).isoformat()
