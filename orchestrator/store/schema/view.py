"""What a view is: columns with their expressions and documentation."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.store.schema.columns import Column
from orchestrator.store.schema.origin import OURS, SYNTHETIC
from orchestrator.store.schema.tables import ENVIRONMENTS, HARDWARE, RESULTS, VERSION, comments

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class View:
    """One view of the database."""

    name: str
    doc: str
    """What one row is; becomes the view's comment."""
    columns: tuple[Column, ...]
    query: str

    @property
    def ddl(self) -> str:
        """The statements that create and describe the view."""
        create = f"CREATE VIEW {self.name} AS {self.query}"
        return "; ".join([create, *comments("VIEW", self.name, self.doc, self.columns)])


@dataclass(frozen=True)
class Shown:
    """A column of a view and the expression behind it."""

    name: str
    expression: str
    type: str
    doc: str


_SOURCES = {"h": HARDWARE, "e": ENVIRONMENTS, "r": RESULTS}
_KNOWN = {column.name: column for table in _SOURCES.values() for column in table.columns}
_ALIAS = {column.name: alias for alias, table in _SOURCES.items() for column in table.columns}


def joined(rows: str = RESULTS.name) -> str:
    """Rows of results with their machine and software, under the names that `same` uses."""
    return (
        f"{rows} r LEFT JOIN {HARDWARE.name} h USING (hardware_id)"
        f" LEFT JOIN {ENVIRONMENTS.name} e USING (environment_id)"
    )


DEVICE = Shown(
    "hardware",
    "coalesce(h.device_name, h.cpu_model)",
    "VARCHAR",
    "The physical device that did the work.",
)


def same(*wanted: str) -> list[Shown]:
    """Columns of `joined` as they are."""
    return [
        Shown(name, f"{_ALIAS[name]}.{name}", _KNOWN[name].type, _KNOWN[name].doc)
        for name in wanted
    ]


def milliseconds(*wanted: str) -> list[Shown]:
    """Columns of the table `r` that end with `_s`, named without it, in milliseconds."""
    return [
        Shown(f"{name}_ms", f"r.{name}_s * 1000", "DOUBLE", _in_milliseconds(f"{name}_s"))
        for name in wanted
    ]


def megabytes(name: str, source: str) -> Shown:
    """A column of the table `r` in megabytes."""
    doc = _KNOWN[source].doc.replace("bytes", "megabytes (1,000,000 bytes)")
    return Shown(name, f"r.{source} / {MEGABYTE}", "DOUBLE", doc)


def _in_milliseconds(column: str) -> str:
    return re.sub(r"\b(s)econds|\b(S)econds", _with_prefix, _KNOWN[column].doc)


def _with_prefix(found: re.Match[str]) -> str:
    return "milliseconds" if found[1] else "Milliseconds"


def columns(shown: Sequence[Shown]) -> tuple[Column, ...]:
    """The view's columns."""
    return tuple(Column(each.name, each.type, each.doc) for each in shown)


def select(shown: Sequence[Shown]) -> str:
    """The view's columns as SELECT wants them."""
    return ", ".join(f"{each.expression} AS {each.name}" for each in shown)


_MADE = f"r.source = '{SYNTHETIC}' AND (SELECT scratch FROM {VERSION.name})"
SHOWN = f"(r.source = '{OURS}' AND NOT r.simulated OR {_MADE})"
"""What default views show: our own rows, and in a scratch database synthetic ones beside them."""
QUOTABLE = (
    f"{SHOWN} AND r.status = 'ok' AND r.proof = 'proven' AND r.latency_median_s IS NOT NULL"
    " AND r.correct IS DISTINCT FROM false"
)
MEASURED_AT = (
    f"CASE WHEN r.source IN ('{OURS}', '{SYNTHETIC}') THEN r.recorded_at"
    " ELSE r.source_measured_at END"
)
ORDER = f"(coalesce({MEASURED_AT}, TIMESTAMPTZ '-infinity'), r.run_id)"
"""Which result is the later one; those that do not say when they were measured come first."""
SAME = "r.source, r.cell_id, coalesce(r.hostname, r.run_id)"
"""What a later result takes the place of: one of the same source, cell and host. Where a file
names no host, its results may be of any, and take the place of none in other files."""
