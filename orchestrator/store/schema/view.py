"""A view of the database: columns with their expressions and documentation."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.store.schema.columns import SqlColumn
from orchestrator.store.schema.tables import (
    ENVIRONMENTS,
    HARDWARE,
    OURS,
    RESULTS,
    SYNTHETIC,
    VERSION,
    comments,
)

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class View:
    """One view of the database."""

    name: str
    doc: str
    """The meaning of one row; becomes the view's comment."""
    columns: tuple[SqlColumn, ...]
    query: str

    @property
    def ddl(self) -> str:
        """The statements that create and describe the view."""
        create = f"CREATE VIEW {self.name} AS {self.query}"
        return "; ".join([create, *comments("VIEW", self.name, self.doc, self.columns)])


@dataclass(frozen=True)
class ViewColumn:
    """A column of a view and the expression behind it."""

    name: str
    expression: str
    type: str
    doc: str


_SOURCES = {"h": HARDWARE, "e": ENVIRONMENTS, "r": RESULTS}
_KNOWN = {column.name: column for table in _SOURCES.values() for column in table.columns}
_ALIAS = {column.name: alias for alias, table in _SOURCES.items() for column in table.columns}


def joined_results(rows: str = RESULTS.name) -> str:
    """Results with their machine and software, under the names that `result_columns` uses."""
    return (
        f"{rows} r LEFT JOIN {HARDWARE.name} h USING (hardware_id)"
        f" LEFT JOIN {ENVIRONMENTS.name} e USING (environment_id)"
    )


DEVICE = ViewColumn(
    "hardware",
    "coalesce(h.device_name, h.cpu_model)",
    "VARCHAR",
    "The physical device that did the work.",
)


def result_columns(*wanted: str) -> list[ViewColumn]:
    """Columns of `joined` as they are."""
    return [
        ViewColumn(name, f"{_ALIAS[name]}.{name}", _KNOWN[name].type, _KNOWN[name].doc)
        for name in wanted
    ]


def milliseconds(*wanted: str) -> list[ViewColumn]:
    """Columns of the table `r` that end with `_s`, named without it, in milliseconds."""
    return [
        ViewColumn(f"{name}_ms", f"r.{name}_s * 1000", "DOUBLE", _in_milliseconds(f"{name}_s"))
        for name in wanted
    ]


def megabytes(name: str, source: str) -> ViewColumn:
    """A column of the table `r` in megabytes."""
    doc = _KNOWN[source].doc.replace("bytes", "megabytes (1,000,000 bytes)")
    return ViewColumn(name, f"r.{source} / {MEGABYTE}", "DOUBLE", doc)


def _in_milliseconds(column: str) -> str:
    return re.sub(r"\b(s)econds|\b(S)econds", _with_prefix, _KNOWN[column].doc)


def _with_prefix(match: re.Match[str]) -> str:
    return "milliseconds" if match[1] else "Milliseconds"


def view_columns(shown: Sequence[ViewColumn]) -> tuple[SqlColumn, ...]:
    """The view's columns."""
    return tuple(SqlColumn(column.name, column.type, column.doc) for column in shown)


def select_list(shown: Sequence[ViewColumn]) -> str:
    """The view's columns as SELECT wants them."""
    return ", ".join(f"{column.expression} AS {column.name}" for column in shown)


_MADE = f"r.source = '{SYNTHETIC}' AND (SELECT scratch FROM {VERSION.name})"
OWN_ROWS = f"(r.source = '{OURS}' AND NOT r.simulated OR {_MADE})"
"""The rows of default views: our own, and in a scratch database synthetic ones beside them."""
TRUSTED = (
    f"{OWN_ROWS} AND r.status = 'ok' AND r.proof = 'proven' AND r.latency_median_s IS NOT NULL"
    " AND r.correct IS DISTINCT FROM false"
)
MEASURED_AT = (
    f"CASE WHEN r.source IN ('{OURS}', '{SYNTHETIC}') THEN r.recorded_at"
    " ELSE r.source_measured_at END"
)
RESULT_ORDER = f"(coalesce({MEASURED_AT}, TIMESTAMPTZ '-infinity'), r.run_id)"
"""The order of results in time; those that do not say when they were measured come first."""
RESULT_KEY = "r.source, r.cell_id, coalesce(r.hostname, r.run_id)"
"""A later result takes the place of one of the same source, cell and host. Where a file names no
host, its results may be of any, and take the place of none in other files."""
