"""What a check is: a question in SQL that a sound database answers with no row."""

from dataclasses import dataclass
from typing import Literal

from orchestrator.store.schema.columns import text
from orchestrator.store.schema.origin import OURS, SYNTHETIC
from orchestrator.store.schema.tables import RESULTS, Table

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Check:
    """One thing that may be wrong with the database."""

    name: str
    """What it finds, in a few words."""
    query: str
    """Those rows: `place` (their rowid), `subject` (their id), `source`, `told` (what is wrong)."""
    remedy: str
    """What to do about it."""
    severity: Severity = "error"
    """How bad it is in rows of ours."""
    imported: Severity = "warning"
    """How bad it is in rows that others measured, whose files may well say so."""
    mends: tuple[str, ...] = ()
    """Statements that derive what the rows should say, where it can be derived."""
    table: Table | None = None
    """The table from which rows with an error that nothing mends go into quarantine; None: they
    stay."""
    asks: tuple[str, ...] = ()
    """The views that it asks; where one is missing or has other columns, it is left out."""
    outright: bool = False
    """Whether they do so before anything is mended, since they are not to be derived from."""


def own(source: str = "source") -> str:
    """The condition that a row is ours, which synthetic ones stand for in a scratch database."""
    return f"{source} IN ({text(OURS)}, {text(SYNTHETIC)})"


def of_results(condition: str, told: str, joined: str = "") -> str:
    """A check's query over the results `r`."""
    return (
        f"SELECT r.rowid AS place, r.result_id AS subject, r.source, {told} AS told"
        f" FROM {RESULTS.name} r {joined} WHERE {condition}"
    )


def places(query: str) -> str:
    """The condition that a row of the results `r` is one of those that a check's query found."""
    return f"r.rowid IN (SELECT place FROM ({query}))"


def own_places(query: str) -> str:
    """The same of our own rows: what others' files tell stays as they tell it."""
    return f"r.rowid IN (SELECT place FROM ({query}) WHERE {own()})"
