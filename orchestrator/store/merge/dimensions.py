"""Tables of what many results share: machines, software, models and files; inferred runs."""

from collections.abc import Iterable

from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.schema.parquet_columns import MEMORY_GIB
from orchestrator.store.schema.tables import (
    ARTEFACTS,
    ENVIRONMENTS,
    HARDWARE,
    MODEL_SPEC,
    MODELS,
    OURS,
    Table,
)
from runner.contract.record.ids import ENVIRONMENT_FACTS, MACHINE_FACTS, MEMORY_FACT

_HASHED = ((HARDWARE, MACHINE_FACTS), (ENVIRONMENTS, ENVIRONMENT_FACTS), (MODELS, (MODEL_SPEC,)))
"""Tables, and the facts that an id is the hash of in every record of ours."""
_FILES = (
    (
        "graph_sha256",
        "graph",
        "graph",
        "{'remedy': graph_remedy, 'difference_relative': graph_difference_relative}",
    ),
    ("image_digest", "image", "image", "image_labels"),
    ("weights_revision", "weights", "model", "{'model_id': model_id}"),
)
"""Columns with digests of artefacts: their kind, what names them, and what is known of them."""


def describe_shared(connection: DuckDBPyConnection, records: str) -> None:
    """Describe what the rows of that relation share.

    What is known keeps its description, or any later record could describe anew what other results
    share. Only what an id is the hash of is taken from every record of ours, replaced ones too: it
    is always the same. Of a machine's memory, hashed to the GiB, the newest record has the bytes.
    """
    are_ours = f"source = '{OURS}'"
    whose = connection.execute(f"SELECT DISTINCT {are_ours} FROM {records} ORDER BY ALL DESC")
    for (ours,) in whose.fetchall():
        for table, hashed in _HASHED:
            rows = _newest(table, records, are_ours if ours else f"NOT {are_ours}")
            connection.execute(_upsert(table, rows, hashed if ours else ()))
    artefacts = " UNION ALL ".join(
        f"""
        SELECT {digest} AS digest, {text(kind)} AS kind,
            arg_max({name}, recorded_at) AS name,
            arg_max(to_json({facts})::VARCHAR, recorded_at) AS facts,
            max(recorded_at) AS seen_at
        FROM {records} WHERE {digest} IS NOT NULL GROUP BY {digest}
        """
        for digest, kind, name, facts in _FILES
    )
    connection.execute(_upsert(ARTEFACTS, artefacts))


def _newest(table: Table, records: str, condition: str) -> str:
    """The newest row of each key; wide columns are looked at in those rows alone."""
    key = table.columns[0].name
    facts = ", ".join(column.name for column in table.columns[1:-1])
    return f"""
        SELECT {key}, {facts}, recorded_at AS seen_at FROM {records}
        SEMI JOIN (
            SELECT filename, file_row_number FROM {records} WHERE {key} IS NOT NULL AND {condition}
            QUALIFY row_number() OVER (
                PARTITION BY {key} ORDER BY recorded_at DESC, result_id) = 1
        ) USING (filename, file_row_number)
    """


def _upsert(table: Table, query: str, facts: Iterable[str] = ()) -> str:
    """The statement that adds what is new; of what is known it changes these facts alone."""
    key, seen_at = table.columns[0].name, f"greatest({table.name}.seen_at, excluded.seen_at)"
    is_newer = f"excluded.seen_at > {table.name}.seen_at"
    differ = {}
    for fact in facts:
        column = f"{{}}.{fact}"
        if fact == MEMORY_FACT:
            column = MEMORY_GIB.replace(fact, column)
        known, new = column.format(table.name), column.format("excluded")
        differ[fact] = f"{known} IS DISTINCT FROM {new}"
    changes = [f"seen_at = {seen_at}"] + [
        f"{fact} = CASE WHEN {is_newer} OR {other} THEN excluded.{fact}"
        f" ELSE {table.name}.{fact} END"
        for fact, other in differ.items()
    ]
    return f"""
        INSERT INTO {table.name} BY NAME {query}
        ON CONFLICT ({key}) DO UPDATE SET {", ".join(changes)}
        WHERE {" OR ".join([is_newer, *differ.values()])}
    """


_INFERRED = {
    "run_id": "run_id",
    "started_at": "min(recorded_at)",
    "finished_at": "max(recorded_at)",
    "launchers": "list_sort(list(DISTINCT launcher))",
    "seed": "min(seed)",
    "git_commit": "arg_max(git_commit, (recorded_at, result_id))",
    "orchestrator_version": "arg_max(orchestrator_version, (recorded_at, result_id))",
    "hostname": "arg_max(hostname, (recorded_at, result_id))",
    "described": "false",
}


def infer_runs(which: str) -> str:
    """The statement that infers the runs whose `run_id` fulfils a condition."""
    return f"""
        INSERT OR REPLACE INTO benchmark_runs ({", ".join(_INFERRED)})
        SELECT {", ".join(_INFERRED.values())}
        FROM benchmark_results LEFT JOIN environments USING (environment_id)
        WHERE {which} GROUP BY run_id
    """
