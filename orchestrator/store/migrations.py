"""Brings databases of older schemas forward, one version after the other, all or nothing.

A migration's statements never change once they are released: they make the tables of their own
version, whatever came after it. Views and comments are made anew from today's code.
"""

import json
from collections.abc import Callable, Mapping, Sequence

from duckdb import DuckDBPyConnection

from orchestrator.store.rows import fetch
from runner.record import digest

Migration = Callable[[DuckDBPyConnection], None]

_ENVIRONMENT = (
    *("operating_system", "kernel", "python_version", "libraries", "image", "image_digest"),
    *("image_labels", "runner_version", "orchestrator_version"),
)


def _to_5(connection: DuckDBPyConnection) -> None:
    """Models, environments and artefacts get tables; results say where they came from."""
    _note_environments(connection)
    for statement in _SPLIT_JOBS, _RESULTS, *_DIMENSIONS, *_AFTERWARDS:
        connection.execute(statement)


def _note_environments(connection: DuckDBPyConnection) -> None:
    """The temporary table `known_environments`: the facts of old results with their ids."""
    facts = ", ".join(_ENVIRONMENT)
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE known_environments AS"
        f" SELECT {facts}, max(recorded_at) AS seen_at, '' AS environment_id"
        f" FROM benchmark_results GROUP BY {facts}"
    )
    for row in fetch(connection, f"SELECT rowid AS row, {facts} FROM known_environments"):
        told = json.dumps({name: row[name] for name in _ENVIRONMENT}, sort_keys=True)
        connection.execute(
            "UPDATE known_environments SET environment_id = ? WHERE rowid = ?",
            [digest(told), row["row"]],
        )


_SAME = " AND ".join(f"r.{name} IS NOT DISTINCT FROM k.{name}" for name in _ENVIRONMENT)
_SPLIT_JOBS = """
    CREATE OR REPLACE TEMP TABLE split_jobs AS
    SELECT result_id, json_extract(job, '$.model')::VARCHAR AS model_spec,
        sha256(json_extract(job, '$.model')::VARCHAR)[:16] AS model_id,
        json_merge_patch(job, '{"model": null}')::VARCHAR AS job
    FROM replay_jobs WHERE json_valid(job)
"""
_RESULTS = f"""
    CREATE TABLE newer_results AS
    SELECT r.* EXCLUDE ({", ".join(_ENVIRONMENT)}), k.environment_id, j.model_id,
        'accelmatrix' AS source, NULL::VARCHAR AS source_format, NULL::VARCHAR AS source_file,
        NULL::VARCHAR AS source_sha256, NULL::VARCHAR AS source_place,
        NULL::TIMESTAMPTZ AS source_measured_at, false AS simulated, NULL::VARCHAR[] AS marks,
        NULL::MAP(VARCHAR, VARCHAR) AS details, NULL::VARCHAR AS other
    FROM benchmark_results r LEFT JOIN known_environments k ON {_SAME}
    LEFT JOIN split_jobs j USING (result_id)
"""
_DIMENSIONS: Sequence[str] = (
    """
    CREATE TABLE environments (environment_id VARCHAR PRIMARY KEY, operating_system VARCHAR,
        kernel VARCHAR, python_version VARCHAR, libraries MAP(VARCHAR, VARCHAR), image VARCHAR,
        image_digest VARCHAR, image_labels MAP(VARCHAR, VARCHAR), runner_version VARCHAR,
        orchestrator_version VARCHAR, seen_at TIMESTAMPTZ NOT NULL)
    """,
    """
    INSERT INTO environments BY NAME SELECT * FROM known_environments
    """,
    """
    CREATE TABLE models (model_id VARCHAR PRIMARY KEY, model VARCHAR NOT NULL, family VARCHAR,
        task VARCHAR, modality VARCHAR, model_spec VARCHAR, seen_at TIMESTAMPTZ NOT NULL)
    """,
    """
    INSERT INTO models
    SELECT model_id, arg_max(model, recorded_at), arg_max(family, recorded_at),
        arg_max(task, recorded_at), arg_max(modality, recorded_at),
        arg_max(model_spec, recorded_at), max(recorded_at)
    FROM newer_results JOIN split_jobs USING (result_id, model_id)
    WHERE model_id IS NOT NULL GROUP BY model_id
    """,
    """
    CREATE TABLE artefacts (digest VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, name VARCHAR,
        facts VARCHAR, seen_at TIMESTAMPTZ NOT NULL)
    """,
    """
    INSERT INTO artefacts
    SELECT graph_sha256, 'graph', arg_max(graph, recorded_at),
        arg_max(to_json({'remedy': graph_remedy,
            'difference_relative': graph_difference_relative})::VARCHAR, recorded_at),
        max(recorded_at)
    FROM benchmark_results WHERE graph_sha256 IS NOT NULL GROUP BY graph_sha256
    UNION ALL
    SELECT image_digest, 'image', arg_max(image, recorded_at),
        arg_max(to_json(image_labels)::VARCHAR, recorded_at), max(recorded_at)
    FROM benchmark_results WHERE image_digest IS NOT NULL GROUP BY image_digest
    UNION ALL
    SELECT weights_revision, 'weights', arg_max(model, recorded_at), NULL, max(recorded_at)
    FROM benchmark_results WHERE weights_revision IS NOT NULL GROUP BY weights_revision
    """,
)
_AFTERWARDS: Sequence[str] = (
    "CREATE TABLE newer_raw AS SELECT * FROM raw_benchmark_data",
    "CREATE TABLE newer_jobs AS SELECT result_id, coalesce(s.job, r.job) AS job"
    " FROM replay_jobs r LEFT JOIN split_jobs s USING (result_id)",
    *(
        statement
        for new, old in (
            ("newer_results", "benchmark_results"),
            ("newer_raw", "raw_benchmark_data"),
            ("newer_jobs", "replay_jobs"),
        )
        for statement in (f"DROP TABLE {old}", f"ALTER TABLE {new} RENAME TO {old}")
    ),
    "ALTER TABLE benchmark_runs ALTER COLUMN orchestrator_version DROP NOT NULL",
    "DROP TABLE known_environments",
    "DROP TABLE split_jobs",
)

MIGRATIONS: Mapping[int, Migration] = {4: _to_5}
"""How a database of each version becomes one of the next."""
OLDEST = min(MIGRATIONS)
"""The oldest version that can be brought forward."""


def migrate(connection: DuckDBPyConnection, version: int, newest: int) -> None:
    """Make a database of that version one of the newest; call inside a transaction."""
    for step in range(version, newest):
        MIGRATIONS[step](connection)
    connection.execute("UPDATE schema_version SET version = ?", [newest])
