"""Ways to damage a sound database by hand, each with the check that must find it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Damage:
    """Statements that do harm, and the name of the check that finds it."""

    check: str
    sql: str
    """With the place `{row}` for the id of the result, where one row is harmed."""
    kind: str = "inference"
    """Of what kind that row must be."""

    def __str__(self) -> str:
        return f"{self.check}: {' '.join(self.sql.split())[:60]}"


def _set(check: str, change: str, kind: str = "inference") -> Damage:
    return Damage(check, f"UPDATE benchmark_results SET {change} WHERE result_id = '{{row}}'", kind)


def _set_raw(check: str, change: str) -> Damage:
    return Damage(check, f"UPDATE raw_benchmark_data SET {change} WHERE result_id = '{{row}}'")


def _again(check: str, table: str, changes: str = "") -> Damage:
    selected = f"* REPLACE ({changes})" if changes else "*"
    return Damage(
        check,
        f"INSERT INTO {table} BY NAME SELECT {selected} FROM {table} WHERE result_id = '{{row}}'",
    )


_COPY = """
    INSERT INTO benchmark_results BY NAME
    SELECT * REPLACE ('copied' AS run_id, 'copied/' || cell_id AS result_id)
    FROM benchmark_results WHERE result_id = '{row}';
    INSERT INTO raw_benchmark_data BY NAME
    SELECT * REPLACE ('copied/' || split_part(result_id, '/', 2) AS result_id)
    FROM raw_benchmark_data WHERE result_id = '{row}'
"""
_STATISTICS = "statistics contradict raw durations"
_PARTS = "parts contradict raw durations"
_COUNT = "iterations are not the durations"
_THROUGHPUT = "throughput contradicts latency"
_RATIO = "ratio contradicts its parts"
_IMPOSSIBLE = "impossible value"
_RUN_TIME = "run at an impossible time"

OF_ROWS = (
    _set("no machine told", "hardware_id = NULL"),
    _set("no environment told", "environment_id = NULL"),
    Damage(
        "raw durations without a result",
        "DELETE FROM benchmark_results WHERE result_id = '{row}'",
    ),
    Damage("job without a result", "DELETE FROM benchmark_results WHERE result_id = '{row}'"),
    _set("id that is not its run and cell", "cell_id = 'another'"),
    _set("id that is not its run and cell", "run_id = 'inferred'"),
    _again("result twice", "benchmark_results"),
    _again(
        "result twice",
        "benchmark_results",
        "recorded_at - INTERVAL 1 HOUR AS recorded_at, 7.0 AS throughput",
    ),
    _again("raw durations twice", "raw_benchmark_data"),
    _again("raw durations twice", "raw_benchmark_data", "[1, 2, 3] AS durations_ns"),
    _again("job twice", "replay_jobs"),
    Damage("measurement under two runs", _COPY),
    _set(_COUNT, "iterations = 4"),
    _set(_COUNT, "iterations = NULL"),
    _set_raw(_COUNT, "durations_ns = durations_ns[:2]"),
    *(
        _set(_STATISTICS, f"{column} = {column} * 1.001")
        for column in (
            *("latency_mean_s", "latency_median_s", "latency_min_s", "latency_max_s"),
            *("latency_stddev_s", "steady_time_s"),
        )
    ),
    _set(_STATISTICS, "latency_median_s = NULL"),
    _set(_STATISTICS, "latency_p50_s = 0.0035"),
    _set_raw(_STATISTICS, "durations_ns = [11, 12, 13]"),
    _set(_PARTS, "time_to_first_token_mean_s = 1", "generation"),
    _set(_PARTS, "time_per_output_token_median_s = 1", "generation"),
    _set(_PARTS, "backward_mean_s = 1", "training"),
    _set(_PARTS, "service_median_s = 1", "server"),
    _set("rounds are not the iterations", "round_iterations = [1, 1]"),
    _set("rounds are not the iterations", "rounds = 2"),
    _set(_THROUGHPUT, "throughput = throughput * 1.001"),
    _set(_THROUGHPUT, "batch_size = 1234"),
    _set(_THROUGHPUT, "token_throughput = token_throughput * 2", "generation"),
    _set(_THROUGHPUT, "decode_throughput = decode_throughput * 2", "generation"),
    _set(_THROUGHPUT, "achieved_qps = achieved_qps * 2", "server"),
    _set(_RATIO, "latency_cv = latency_cv * 2"),
    _set(_RATIO, "latency_precision = latency_precision * 2"),
    _set(_RATIO, "energy_per_sample_joules = 4"),
    _set(_IMPOSSIBLE, "latency_median_s = -0.003"),
    _set(_IMPOSSIBLE, "latency_mean_s = 0"),
    _set(_IMPOSSIBLE, "throughput = 0"),
    _set(_IMPOSSIBLE, "throughput = 'nan'::DOUBLE"),
    _set(_IMPOSSIBLE, "first_latency_s = 'inf'::DOUBLE"),
    _set(_IMPOSSIBLE, "memory_peak_bytes = -1"),
    _set(_IMPOSSIBLE, "energy_joules = 0"),
    _set(_IMPOSSIBLE, "batch_size = 0"),
    _set(_IMPOSSIBLE, "iterations = 0"),
    _set(_IMPOSSIBLE, "noise_steal = 1.5"),
    _set_raw("impossible raw duration", "durations_ns = [-2000001, 3000000, 4000000]"),
    _set_raw("impossible raw duration", "warmup_durations_ns = [0]"),
    _set("unknown word", "status = 'fine'"),
    _set("unknown word", "proof = 'believed'"),
    _set("unknown word", "mode = 'guessing'"),
    _set("unknown word", "status = 'fine'", "imported"),
    _set("percentiles out of order", "latency_p90_s = 0.0035, latency_p99_s = 0.0034"),
    _set("percentiles out of order", "latency_p99_s = 0.0045"),
    _set("middle outside its range", "latency_median_s = 0.0041"),
    _set("middle outside its range", "latency_mean_s = 0.0019"),
    _set("interval out of order", "latency_median_low_s = 0.0039, latency_precision = NULL"),
    _set("interval out of order", "latency_median_high_s = 0.002, latency_precision = NULL"),
    _set("recorded in the future", "recorded_at = recorded_at + INTERVAL 1 YEAR"),
    Damage(
        "ok without a measurement",
        """
        UPDATE benchmark_results SET latency_median_s = NULL WHERE result_id = '{row}';
        DELETE FROM raw_benchmark_data WHERE result_id = '{row}'
        """,
    ),
    _set("ok without a measurement", "latency_median_s = NULL"),
    _set("proof without evidence", "evidence = NULL"),
    _set("proof without evidence", "evidence = MAP {{}}"),
    _set("proof of what others measured", "proof = 'proven'", "imported"),
    _set("simulated, and called ours", "simulated = true"),
    _set("marked, and not called simulated", "marks = ['/is_simulation: true']", "imported"),
    _set("made up, in a real database", "backend = 'fake'"),
    _set("made up, in a real database", "source = 'synthetic'"),
)
"""Each harms one result, so that all may be done to one database."""

TOGETHER = (
    (
        Damage("result without its run", "DELETE FROM benchmark_runs WHERE run_id = 'inferred'"),
        Damage("result without its model", "DELETE FROM models"),
        Damage(_RUN_TIME, "UPDATE benchmark_runs SET started_at = started_at + INTERVAL 2 MINUTE"),
        Damage("defined otherwise", "DROP VIEW benchmark_performance"),
        Damage("defined otherwise", "CREATE OR REPLACE VIEW failures AS SELECT 1 AS one"),
        Damage("defined otherwise", "COMMENT ON TABLE models IS NULL"),
    ),
    (
        Damage("result without its machine", "DELETE FROM hardware_info"),
        Damage("result without its environment", "DELETE FROM environments"),
    ),
    (
        Damage("result without its run", "DELETE FROM benchmark_runs"),
        Damage(
            "in a default view, and not ours",
            "CREATE OR REPLACE VIEW benchmark_performance AS"
            " SELECT * FROM benchmark_performance_all",
        ),
        Damage(
            "defined otherwise",
            "CREATE OR REPLACE VIEW latest_results AS SELECT * FROM benchmark_performance LIMIT 1",
        ),
        Damage("defined otherwise", "COMMENT ON COLUMN benchmark_results.model IS 'changed'"),
    ),
    (
        Damage(_RUN_TIME, "UPDATE benchmark_runs SET started_at = started_at + INTERVAL 1 YEAR"),
        Damage(_RUN_TIME, "UPDATE benchmark_runs SET finished_at = started_at - INTERVAL 2 MINUTE"),
        Damage(
            _RUN_TIME,
            "INSERT INTO benchmark_runs BY NAME SELECT 'empty' AS run_id, true AS described,"
            " [] AS launchers, started_at + INTERVAL 1 YEAR AS started_at"
            " FROM benchmark_runs LIMIT 1",
        ),
    ),
)
"""Each harms the whole database; those of one group can be done to one database."""

OF_ALL = tuple(damage for group in TOGETHER for damage in group)
