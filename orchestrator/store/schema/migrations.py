"""Migrations of older schemas, one version after the other, all or nothing.

A migration's statements never change once they are released: they make the tables of their own
version, whatever came after it. Views and comments are made anew from today's code.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from duckdb import DuckDBPyConnection

from orchestrator.store.schema.machine_migrations import NAMED_CPUS, OLDER_SLICES, ROUNDED_MEMORY
from orchestrator.store.schema.older_records import (
    ENERGY_VALUES,
    FORMER_STAGES,
    GRADE_VALUES,
    OLDER_VALUES,
    STAGES,
    STOOD_FOR,
)
from orchestrator.store.schema.parquet_columns import MODEL, environment_id_sql

Migration = Callable[[DuckDBPyConnection], None]

_FACTS = (
    *("operating_system", "kernel", "python_version", "libraries", "image", "image_digest"),
    *("image_labels", "runner_version", "orchestrator_version"),
)
_REQUIRED = ("result_id", "run_id", "job_id", "cell_id", "recorded_at", "model", "status", "proof")


def _to_5(connection: DuckDBPyConnection) -> None:
    """Models, environments and artefacts get tables; results say where they came from."""
    statements = (_SPLIT_JOBS, _RESULTS, *_CONSTRAINTS, _ENVIRONMENTS, _MODELS, _ARTEFACTS)
    for statement in (*statements, *_RAW_AND_JOBS, *_SWAP, *_AFTERWARDS):
        connection.execute(statement)


_SPLIT_JOBS = f"""
    CREATE OR REPLACE TEMP TABLE split_jobs AS
    SELECT result_id, {", ".join(f"{value} AS {name}" for name, value in MODEL.items())}
    FROM replay_jobs
"""
_RESULTS = f"""
    CREATE TABLE newer_results AS
    SELECT r.* EXCLUDE ({", ".join(_FACTS)}), {environment_id_sql(_FACTS)} AS environment_id,
        j.model_id,
        'accelmatrix' AS source, NULL::VARCHAR AS source_format, NULL::VARCHAR AS source_file,
        NULL::VARCHAR AS source_sha256, NULL::VARCHAR AS source_place,
        NULL::TIMESTAMPTZ AS source_measured_at, false AS simulated, NULL::VARCHAR[] AS marks,
        NULL::MAP(VARCHAR, VARCHAR) AS details, NULL::VARCHAR AS other
    FROM benchmark_results r LEFT JOIN split_jobs j USING (result_id)
"""
_CONSTRAINTS: Sequence[str] = tuple(
    f"ALTER TABLE newer_results ALTER COLUMN {name} SET NOT NULL"
    for name in (*_REQUIRED, "source", "simulated")
)
_NEWEST = """
    QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY recorded_at DESC, result_id) = 1
"""
_ENVIRONMENTS = f"""
    CREATE TABLE environments (environment_id VARCHAR PRIMARY KEY, operating_system VARCHAR,
        kernel VARCHAR, python_version VARCHAR, libraries MAP(VARCHAR, VARCHAR), image VARCHAR,
        image_digest VARCHAR, image_labels MAP(VARCHAR, VARCHAR), runner_version VARCHAR,
        orchestrator_version VARCHAR, seen_at TIMESTAMPTZ NOT NULL);
    INSERT INTO environments BY NAME
    SELECT n.environment_id, {", ".join(f"r.{name}" for name in _FACTS)}, r.recorded_at AS seen_at
    FROM benchmark_results r JOIN newer_results n USING (result_id)
    {_NEWEST.format(key="n.environment_id").replace("recorded_at", "r.recorded_at")}
"""
_MODELS = f"""
    CREATE TABLE models (model_id VARCHAR PRIMARY KEY, model VARCHAR NOT NULL, family VARCHAR,
        task VARCHAR, modality VARCHAR, model_spec VARCHAR, seen_at TIMESTAMPTZ NOT NULL);
    INSERT INTO models BY NAME
    SELECT n.model_id, n.model, n.family, n.task, n.modality, j.model_spec,
        n.recorded_at AS seen_at
    FROM newer_results n JOIN split_jobs j USING (result_id) WHERE n.model_id IS NOT NULL
    {_NEWEST.format(key="n.model_id")}
"""
_ARTEFACTS = """
    CREATE TABLE artefacts (digest VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, name VARCHAR,
        facts VARCHAR, seen_at TIMESTAMPTZ NOT NULL);
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
    SELECT weights_revision, 'weights', arg_max(model, recorded_at),
        arg_max(to_json({'model_id': model_id})::VARCHAR, recorded_at), max(recorded_at)
    FROM newer_results WHERE weights_revision IS NOT NULL GROUP BY weights_revision
"""
_RAW_AND_JOBS: Sequence[str] = (
    """
    CREATE TABLE newer_raw (result_id VARCHAR NOT NULL, warmup_durations_ns BIGINT[],
        durations_ns BIGINT[], part_durations_ns MAP(VARCHAR, BIGINT[]));
    INSERT INTO newer_raw BY NAME SELECT * FROM raw_benchmark_data
    """,
    """
    CREATE TABLE newer_jobs (result_id VARCHAR USING COMPRESSION zstd NOT NULL,
        job VARCHAR USING COMPRESSION zstd);
    INSERT INTO newer_jobs BY NAME SELECT result_id, job FROM split_jobs
    """,
)
_SWAP: Sequence[str] = tuple(
    f"DROP TABLE {old}; ALTER TABLE {new} RENAME TO {old}"
    for new, old in (
        ("newer_results", "benchmark_results"),
        ("newer_raw", "raw_benchmark_data"),
        ("newer_jobs", "replay_jobs"),
    )
)
_QUARANTINE = """
    CREATE TABLE quarantine (result_id VARCHAR, run_id VARCHAR NOT NULL,
        table_name VARCHAR NOT NULL, reason VARCHAR NOT NULL, quarantined_at TIMESTAMPTZ NOT NULL,
        recorded_at TIMESTAMPTZ, content VARCHAR NOT NULL)
"""
_AFTERWARDS: Sequence[str] = (
    _QUARANTINE,
    "ALTER TABLE benchmark_runs ALTER COLUMN orchestrator_version DROP NOT NULL",
    "DROP TABLE split_jobs",
)


def _add_columns(connection: DuckDBPyConnection, columns: Sequence[str]) -> None:
    """Give results further columns, null so far."""
    for column in columns:
        connection.execute(f"ALTER TABLE benchmark_results ADD COLUMN IF NOT EXISTS {column}")


def _to_7(connection: DuckDBPyConnection) -> None:
    """Columns of record schema 6; columns whose meaning changed say what their names say."""
    _add_columns(connection, [f"{name} {kind}" for name, kind in _ADDED.items()])
    for table, column in _ADDED_ELSEWHERE.items():
        connection.execute(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column}")
    stand_ins = (f"UPDATE benchmark_results SET {new} = {old}" for new, old in STOOD_FOR.items())
    for statement in (_CHANGE_VALUES, *OLDER_SLICES, *stand_ins):
        connection.execute(statement)
    for name in sorted(FORMER_STAGES):
        connection.execute(f"ALTER TABLE benchmark_results DROP COLUMN IF EXISTS {name}")


_ENDS = ("_low", "_high")
_TAILS = ("p90", "p95", "p99", "p999")
_TIMES = ("latency", "time_to_first_token", "time_per_output_token", "inter_token_latency")
_INTERVALS = (
    *("time_to_first_token_median", "time_per_output_token_median"),
    *(f"{name}_{percentile}" for name in _TIMES for percentile in _TAILS),
)
_STARTS = (*(f"{kind}_{stage}" for kind in ("warm", "cold") for stage in STAGES), "cold")
_ADDED: Mapping[str, str] = {
    **{f"inter_token_latency_{name}_s": "DOUBLE" for name in ("mean", "median", "stddev", "p50")},
    **{f"inter_token_latency_{name}_s": "DOUBLE" for name in _TAILS},
    **{f"{name}{end}_s": "DOUBLE" for name in _INTERVALS for end in _ENDS},
    **{f"peak_qps{end}": "DOUBLE" for end in _ENDS},
    **{f"offline_{name}": "BIGINT[]" for name in ("batches", "queries", "memory_bytes")},
    **{f"offline_{name}": "DOUBLE[]" for name in ("throughputs", "latencies_s")},
    "round_medians": "DOUBLE[]",
    "latency_between_process_cv": "DOUBLE",
    "process_spread": "DOUBLE",
    "process_spread_source": "VARCHAR",
    "steady_change": "DOUBLE",
    "steady_change_kind": "VARCHAR",
    "steady_change_p_value": "DOUBLE",
    **{f"difference_{name}": "DOUBLE" for name in ("row", "mean")},
    **{f"tolerance_{name}": "DOUBLE" for name in ("row", "mean", "share")},
    "difference_where": "VARCHAR",
    **{f"{region}_median_s": "DOUBLE" for region in ("device", "host_to_host")},
    "kernel_share": "DOUBLE",
    "energy_scope": "VARCHAR",
    "energy_host_joules": "DOUBLE",
    **{f"startup_{name}_median_s": "DOUBLE" for name in _STARTS},
    **{f"startup_{name}_median{end}_s": "DOUBLE" for name in _STARTS for end in _ENDS},
    "startup_cold_resident_share": "DOUBLE",
    "weights_seed": "BIGINT",
    "workers": "BIGINT",
    "training_precision": "VARCHAR",
    "training_scale": "DOUBLE",
    "training_steps_skipped": "BIGINT",
    "training_changed_share": "DOUBLE",
    "gradient_difference": "DOUBLE",
    "gradient_tolerance": "DOUBLE",
    "gradient_where": "VARCHAR",
    "gradients_compared": "BIGINT",
    **{f"cpu_{name}": "VARCHAR" for name in ("scaling_driver", "energy_preference")},
    **{f"cpu_{name}": "BOOLEAN" for name in ("turbo", "smt")},
    "cpu_threads_per_core": "BIGINT",
    "numa_nodes": "BIGINT",
    "cpu_numa_nodes": "BIGINT[]",
    "transparent_huge_pages": "VARCHAR",
    "noise_throttled_periods": "BIGINT",
    "noise_involuntary_switches": "BIGINT",
    "noise_throttled_s": "DOUBLE",
    **{f"cpu_clock{name}_hz": "DOUBLE" for name in ("_before", "", "_low", "_after")},
    "cpu_throttle_events": "BIGINT",
    "cpu_throttled_s": "DOUBLE",
    "device_throttled": "MAP(VARCHAR, DOUBLE)",
    "device_power_limit_watts": "DOUBLE",
    "device_ecc": "BOOLEAN",
    **{
        f"device_{name}": "BIGINT"
        for name in ("pcie_width", "pcie_generation", "memory_bytes", "compute_units")
    },
    **{f"{name}_per_iteration": "BIGINT" for name in ("flops", "bytes")},
    **{f"prefill_{name}": "BIGINT" for name in ("flops", "bytes")},
    "device_cache_bytes": "BIGINT",
    **{f"peak_{name}_per_s": "DOUBLE" for name in ("flops", "bytes")},
    "peak_method": "VARCHAR",
}
"""Columns of `benchmark_results` that schema 7 adds, with their types."""
_ADDED_ELSEWHERE = {
    "environments": "environment_variables MAP(VARCHAR, VARCHAR)",
    "hardware_info": "device_partition VARCHAR",
}
"""The column that it adds to another table."""
_CHANGE_VALUES = f"""
    UPDATE benchmark_results r SET {", ".join(f"{name} = n.{name}" for name in OLDER_VALUES)}
    FROM (
        SELECT result_id, {", ".join(f"{value} AS {name}" for name, value in OLDER_VALUES.items())}
        FROM benchmark_results LEFT JOIN raw_benchmark_data USING (result_id)
    ) n
    WHERE r.result_id = n.result_id AND r.schema_version < 6
"""


def _to_8(connection: DuckDBPyConnection) -> None:
    """Steps that somebody accepted get a table, and results name the run they took turns with."""
    connection.execute(_ACCEPTED)
    _add_columns(connection, ("interleaved_with VARCHAR",))


_ACCEPTED = """
    CREATE TABLE accepted_changes (result_id VARCHAR NOT NULL, run_id VARCHAR NOT NULL,
        cell_id VARCHAR NOT NULL, because VARCHAR NOT NULL, accepted_at TIMESTAMPTZ NOT NULL,
        accepted_by VARCHAR, PRIMARY KEY (result_id))
"""


def _to_9(connection: DuckDBPyConnection) -> None:
    """Results tell the memory of a page, and whether software stood in for the device; runs have
    labels.
    """
    _add_columns(connection, _OF_BROWSERS)
    connection.execute(
        "ALTER TABLE benchmark_runs ADD COLUMN IF NOT EXISTS labels MAP(VARCHAR, VARCHAR)"
    )


_OF_BROWSERS = (
    "memory_wasm_bytes BIGINT",
    "memory_gpu_buffer_bytes BIGINT",
    "memory_gpu_buffer_peak_bytes BIGINT",
    "software_device BOOLEAN",
)


def _to_10(connection: DuckDBPyConnection) -> None:
    """Runs have a group, results a fleet's transport and daemons; machines' ids count GiB."""
    connection.execute("ALTER TABLE benchmark_runs ADD COLUMN IF NOT EXISTS group_id VARCHAR")
    _add_columns(connection, _OF_FLEETS)
    for statement in ROUNDED_MEMORY:
        connection.execute(statement)


_OF_FLEETS = ("transport VARCHAR", "noise_daemon_share DOUBLE", "noise_daemon_beats BIGINT")


def _to_13(connection: DuckDBPyConnection) -> None:
    """Results tell for how long the machine was heated first; grades of before schema 6 are C."""
    _add_columns(connection, ("heat_s DOUBLE",))
    values = ", ".join(f"{name} = {value}" for name, value in GRADE_VALUES.items())
    connection.execute(f"UPDATE benchmark_results SET {values}")


def _to_14(connection: DuckDBPyConnection) -> None:
    """A processor has one name, whichever runtime told it; starts have no joules of their own."""
    for statement in NAMED_CPUS:
        connection.execute(statement)
    values = ", ".join(f"{name} = {value}" for name, value in ENERGY_VALUES.items())
    connection.execute(f"UPDATE benchmark_results SET {values}")


def _to_16(connection: DuckDBPyConnection) -> None:
    """Results no longer count the time of a fleet's daemons."""
    for column in ("noise_daemon_share", "noise_daemon_beats"):
        connection.execute(f"ALTER TABLE benchmark_results DROP COLUMN IF EXISTS {column}")
    connection.execute(
        "ALTER TABLE schema_version ADD COLUMN IF NOT EXISTS predictor_sha256 VARCHAR"
    )


MIGRATIONS: Mapping[int, Migration] = {
    4: _to_5,
    5: lambda _: None,  # views alone are others, and those are made anew
    6: _to_7,
    7: _to_8,
    8: _to_9,
    9: _to_10,
    10: partial(_add_columns, columns=("effective_rounds DOUBLE", "round_degrees DOUBLE")),
    11: lambda _: None,  # likewise
    12: _to_13,
    13: _to_14,
    14: partial(_add_columns, columns=("cpu_siblings BIGINT[]",)),
    15: _to_16,
}
"""The step from each version to the next."""


def migrate(connection: DuckDBPyConnection, version: int, newest: int) -> None:
    """Make a database of that version one of the newest; call inside a transaction."""
    for step in range(version, newest):
        MIGRATIONS[step](connection)
    connection.execute("UPDATE schema_version SET version = ?", [newest])
