"""A view of the database: columns with their expressions and documentation."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from analysis.results.metrics import METRICS
from analysis.results.series import SERIES
from orchestrator.store.schema.parquet_columns import MEMORY_GIB
from orchestrator.store.schema.tables import (
    ENVIRONMENTS,
    HARDWARE,
    OURS,
    RESULTS,
    SYNTHETIC,
    SqlColumn,
    comments,
)
from runner.contract.axes import Mode
from runner.contract.record.ids import HOST_FACTS, MEMORY_FACT, REQUIRED_FACTS

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class View:
    """One view of the database."""

    name: str
    doc: str
    columns: tuple[SqlColumn, ...]
    query: str

    @property
    def create(self) -> str:
        return f"CREATE VIEW {self.name} AS {self.query}"

    @property
    def ddl(self) -> str:
        return "; ".join([self.create, *comments("VIEW", self.name, self.doc, self.columns)])


@dataclass(frozen=True)
class ViewColumn:
    """A column of a view and the expression behind it."""

    name: str
    expression: str
    doc: str
    type: str = "DOUBLE"


_SOURCES = {"h": HARDWARE, "e": ENVIRONMENTS, "r": RESULTS}
_KNOWN = {column.name: column for table in _SOURCES.values() for column in table.columns}
_ALIAS = {column.name: alias for alias, table in _SOURCES.items() for column in table.columns}


def _host_fact(name: str) -> str:
    return f"coalesce({MEMORY_GIB if name == MEMORY_FACT else name}::VARCHAR, 'None')"


_HOST_ID = (
    f"CASE WHEN {' AND '.join(f'{name} IS NOT NULL' for name in REQUIRED_FACTS)}"
    f" THEN sha256(concat_ws(chr(10), {', '.join(map(_host_fact, HOST_FACTS))}))[:16] END"
)
"""`host_id` of the contract in SQL."""
_MACHINES = (
    f"(SELECT *, {_HOST_ID} AS host, coalesce(cpu_cores_physical, cpu_cores_logical) AS cores"
    f" FROM hardware_info)"
)
_SEEN = (
    f"FROM benchmark_results JOIN {_MACHINES} USING (hardware_id)"
    " WHERE host IS NOT NULL AND hostname IS NOT NULL"
)


def joined_results(rows: str = RESULTS.name) -> str:
    """Results with their machine and software, under the names that `columns` uses."""
    return (
        f"{rows} r LEFT JOIN {_MACHINES} h USING (hardware_id)"
        f" LEFT JOIN environments e USING (environment_id)"
    )


def joined_verdicts(rows: str = RESULTS.name) -> str:
    """The same for verdicts that may name no machine, with what tells `HOST_OF_VERDICT`."""
    return f"""{joined_results(rows)}
        LEFT JOIN (SELECT source, run_id, hostname, min(host) AS host {_SEEN} GROUP BY ALL) u
            ON u.source = r.source AND u.run_id = r.run_id AND u.hostname = r.hostname
        LEFT JOIN (
            SELECT source, hostname, arg_max(host, (recorded_at, host)) AS host {_SEEN} GROUP BY ALL
        ) n ON n.source = r.source AND n.hostname = r.hostname"""


HOST_OF_VERDICT = ViewColumn(
    "host",
    "coalesce(h.host, u.host, n.host)",
    "Which machine, whatever its name: a hash of processor, cores, memory in GiB and instruction"
    " set. A verdict without them has that of its run, or of its host name's newest; else null.",
    "VARCHAR",
)
_COMPUTED = (
    ViewColumn(
        *("hardware", "coalesce(h.device_name, h.cpu_model)"),
        "The physical device that did the work.",
        "VARCHAR",
    ),
    replace(HOST_OF_VERDICT, expression="h.host"),
    ViewColumn(
        *("cores", "h.cores"),
        "Cores of the machine; hardware threads where no one tells the cores.",
        "BIGINT",
    ),
    ViewColumn(
        *("off", "r.difference_relative"),
        "How far outputs are off: the norm of their difference to the fp32 reference by the norm of"
        " the reference, 0.05 for 5 %; null where they were not compared.",
    ),
)
_COMPUTED_BY_NAME = {column.name: column for column in _COMPUTED}
_BYTES_OF = {"memory_mb": "memory_peak_bytes"}
"""Columns of bytes whose megabytes have another name."""


def columns(names: str) -> list[ViewColumn]:
    """Columns of `joined_results` by their names in views, parted by blanks.

    Those that end with `_s` or `_bytes` are also there in milliseconds and megabytes.
    """
    return [_column(name) for name in names.split()]


def _column(name: str) -> ViewColumn:
    if computed := _COMPUTED_BY_NAME.get(name):
        return computed
    if known := _KNOWN.get(name):
        return ViewColumn(name, f"{_ALIAS[name]}.{name}", known.doc, known.type)
    if name.endswith("_mb"):
        source = _BYTES_OF.get(name, f"{name.removesuffix('_mb')}_bytes")
        doc = _KNOWN[source].doc.replace("bytes", "megabytes (1,000,000 bytes)")
        return ViewColumn(name, f"r.{source} / {MEGABYTE}", doc)
    source = f"{name.removesuffix('_ms')}_s"
    doc = re.sub(r"\bseconds", "milliseconds", _KNOWN[source].doc)
    return ViewColumn(name, f"r.{source} * 1000", re.sub(r"\bSeconds", "Milliseconds", doc))


def columns_of_metrics(view: str, beside: Iterable[ViewColumn]) -> list[ViewColumn]:
    """The columns of a view's metrics, with their intervals, that are not beside them."""
    there = {column.name for column in beside}
    names = (
        name
        for metric in METRICS.values()
        if metric.view == view
        for name in (metric.column, metric.low, metric.high)
    )
    return columns(" ".join(name for name in names if name and name not in there))


def view(name: str, doc: str, shown: Sequence[ViewColumn], rows: str) -> View:
    described = tuple(SqlColumn(column.name, column.type, column.doc) for column in shown)
    return View(name, doc, described, f"SELECT {select_list(shown)} FROM {rows}")


def select_list(shown: Sequence[ViewColumn]) -> str:
    return ", ".join(f"{column.expression} AS {column.name}" for column in shown)


_MODES = "|".join(get_args(Mode))


def planned_threads(row: str) -> str:
    """The threads that a cell's id, which has the sizes before the mode, names; else null."""
    named = rf"regexp_matches({row}.cell_id, '-t\d+(-w\d+)?-({_MODES})')"
    return f"CASE WHEN {named} THEN {row}.threads END"


_MADE = f"r.source = '{SYNTHETIC}' AND (SELECT scratch FROM schema_version)"
OWN_ROWS = f"(r.source = '{OURS}' AND NOT r.simulated OR {_MADE})"
"""The rows of default views: our own, and in a scratch database synthetic ones beside them."""
TRUSTED = (
    f"{OWN_ROWS} AND r.status = 'ok' AND r.proof = 'proven' AND r.latency_median_s IS NOT NULL"
    " AND r.correct IS DISTINCT FROM false AND r.software_device IS DISTINCT FROM true"
)
MEASURED_AT = (
    f"CASE WHEN r.source IN ('{OURS}', '{SYNTHETIC}') THEN r.recorded_at"
    " ELSE r.source_measured_at END"
)
RESULT_ORDER = f"(coalesce({MEASURED_AT}, TIMESTAMPTZ '-infinity'), r.run_id)"
"""The order of results in time; those that do not say when they were measured come first."""
_DEVICE_OF = "coalesce(r.hardware_id, r.hostname, r.run_id)"
OF_SERIES = ", ".join(_DEVICE_OF if name == "hardware_id" else f"r.{name}" for name in SERIES)
SERIES_KEY = f"hash({OF_SERIES}), r.cell_id"
"""Results of one series may be compared over time, and a later one takes the place of an earlier.
Where a file names neither machine nor host, its results are of no series with other files'. Beside
the cell, a hash stands for the rest: to group and sort by all of it takes three times as long."""
