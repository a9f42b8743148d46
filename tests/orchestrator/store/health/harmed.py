"""Databases that were sound once."""

from collections.abc import Mapping
from pathlib import Path

import duckdb

from orchestrator.store.store import Store
from tests.orchestrator.store.health.damages import OF_ROWS, Damage
from tests.orchestrator.store.health.sound import IMPORTED, KINDS, RUN, import_like, saved


def harm(database: Path, sql: str) -> None:
    """Change a database as somebody with a DuckDB client may."""
    with duckdb.connect(database) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(sql)


def a_database_of_rows_to_harm(database: Path, results: Path) -> Mapping[Damage, str]:
    """A sound database with one row for each damage of a row: its result id."""
    records = {
        damage: KINDS.get(damage.kind, KINDS["inference"])(size)
        for size, damage in enumerate(OF_ROWS, start=1)
    }
    with Store.open(database) as store:
        store.merge(
            saved(results, list(records.values())), RUN.model_copy(update={"planned": None})
        )
    rows = {damage: f"{record.run_id}/{record.cell_id}" for damage, record in records.items()}
    for damage, row in rows.items():
        if damage.kind == "imported":
            rows[damage] = f"{IMPORTED}-{records[damage].batch_size}"
            import_like(database, row, rows[damage])
    return rows


def harm_every_row(database: Path, rows: Mapping[Damage, str]) -> None:
    """Do all of it at once."""
    harm(database, ";".join(damage.sql.format(row=row) for damage, row in rows.items()))
