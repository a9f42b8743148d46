"""Record files into a new database: by the store, and by DuckDB alone."""

from pathlib import Path

import duckdb

from orchestrator.store import Store


def merge(records: Path, database: Path, rows: int, *, scratch: bool = False) -> None:
    """Merge the records with the store."""
    with Store.open(database, scratch=scratch) as store:
        report = store.merge([records])
    if report.inserted != rows:
        raise SystemExit(f"merged {report.inserted} records instead of {rows}")


def read_in_bulk(records: Path, database: Path) -> None:
    """Read the records with DuckDB alone."""
    with duckdb.connect(database) as connection:
        connection.execute(
            "CREATE TABLE records AS SELECT * FROM read_parquet(?)", [f"{records}/*.parquet"]
        )
