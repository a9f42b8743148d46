"""The same thing more than once."""

from orchestrator.store.health.checks.check import Check
from orchestrator.store.schema.tables import JOBS, RAW, RESULTS, Table

FEWEST = 3
"""Of so many nanoseconds and more, two measurements do not give the same by chance."""


def _twice(table: Table) -> str:
    return f"SELECT result_id FROM {table.name} GROUP BY result_id HAVING count(*) > 1"


def _older_results() -> str:
    return f"""
        SELECT rowid AS place, result_id AS subject, source,
            'an older row, recorded ' || recorded_at::VARCHAR AS told
        FROM {RESULTS.name} WHERE result_id IN ({_twice(RESULTS)})
        QUALIFY row_number() OVER (
            PARTITION BY result_id ORDER BY recorded_at DESC, rowid DESC) > 1
    """


def _surplus_durations() -> str:
    """All but the row that agrees best with the newest result."""
    return f"""
        SELECT d.rowid AS place, d.result_id AS subject, r.source,
            len(d.durations_ns) || ' durations' AS told
        FROM {RAW.name} d LEFT JOIN (
            SELECT result_id, any_value(source) AS source,
                arg_max(iterations, recorded_at) AS iterations,
                arg_max(latency_mean_s, recorded_at) AS mean_s
            FROM {RESULTS.name} WHERE result_id IN ({_twice(RAW)}) GROUP BY result_id
        ) r USING (result_id)
        WHERE d.result_id IN ({_twice(RAW)})
        QUALIFY row_number() OVER (PARTITION BY d.result_id ORDER BY
            (len(d.durations_ns) = r.iterations) DESC NULLS LAST,
            abs(list_avg(d.durations_ns) / 1e9 - r.mean_s) NULLS LAST, d.rowid DESC) > 1
    """


def _surplus_jobs() -> str:
    return f"""
        SELECT rowid AS place, result_id AS subject, NULL AS source, 'a second job' AS told
        FROM {JOBS.name} WHERE result_id IN ({_twice(JOBS)})
        QUALIFY row_number() OVER (PARTITION BY result_id ORDER BY rowid DESC) > 1
    """


def _copies() -> str:
    """All but the first of the rows with the very same durations of one cell on one host."""
    return f"""
        WITH timed AS (
            SELECT result_id, hash(durations_ns) AS mark FROM {RAW.name}
            WHERE len(durations_ns) >= {FEWEST}
        ), alike AS (
            SELECT result_id, mark FROM timed
            WHERE mark IN (SELECT mark FROM timed GROUP BY mark HAVING count(*) > 1)
        )
        SELECT r.rowid AS place, r.result_id AS subject, r.source,
            'the durations of ' || first_value(r.result_id) OVER same AS told
        FROM alike JOIN {RESULTS.name} r USING (result_id)
        WINDOW same AS (
            PARTITION BY mark, r.cell_id, r.hostname, r.source ORDER BY r.recorded_at, r.run_id)
        QUALIFY r.run_id <> first_value(r.run_id) OVER same
    """


DUPLICATES = (
    Check(
        "result twice",
        _older_results(),
        "`--fix` keeps the newest and takes the others out",
        imported="error",
        table=RESULTS,
        outright=True,
    ),
    Check(
        "raw durations twice",
        _surplus_durations(),
        "`--fix` keeps those that agree with the result and takes the others out",
        imported="error",
        table=RAW,
        outright=True,
    ),
    Check(
        "job twice",
        _surplus_jobs(),
        "`--fix` keeps one and takes the others out",
        table=JOBS,
        outright=True,
    ),
    Check(
        "measurement under two runs",
        _copies(),
        "`--fix` keeps the first and takes the others out",
        table=RESULTS,
        outright=True,
    ),
)
