"""Runs with all that is known of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from orchestrator.store.file.rows import fetch
from orchestrator.store.schema.run import Run
from orchestrator.store.schema.tables import RESULTS, RUNS


@dataclass(frozen=True)
class StoredRun:
    """A run of a database."""

    run: Run
    described: bool
    """Whether the orchestrator described it; else it is inferred from its records."""
    records: int
    """Verdicts it has."""

    def is_newer_than(self, run: Run) -> bool:
        """Whether its description says what that one cannot say yet."""
        if not self.described or self.run.finished_at is None:
            return False
        return run.finished_at is None or self.run.finished_at > run.finished_at


def stored_runs(connection: DuckDBPyConnection) -> Mapping[str, StoredRun]:
    """All runs by id, the newest first."""
    found = fetch(
        connection,
        f"""
        SELECT * FROM {RUNS.name}
        LEFT JOIN (SELECT run_id, count(*) AS records FROM {RESULTS.name} GROUP BY run_id)
            USING (run_id)
        ORDER BY started_at DESC, run_id DESC
        """,
    )
    return {
        row["run_id"]: StoredRun(
            Run.model_validate({name: row[name] for name in Run.model_fields}),
            row["described"],
            row["records"] or 0,
        )
        for row in found
    }


def untold(runs: Iterable[Run], known: Mapping[str, StoredRun]) -> list[Run]:
    """Those of which the database knows less."""
    return [
        run
        for run in runs
        if (stored := known.get(run.run_id)) is None
        or not (stored.is_newer_than(run) or (stored.described and stored.run == run))
    ]
