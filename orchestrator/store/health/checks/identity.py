"""Rows that point at rows which are not there."""

from collections.abc import Iterator

from orchestrator.store.health.checks.check import Check, of_results, own
from orchestrator.store.merge.dimensions import infer_runs
from orchestrator.store.schema.tables import (
    ENVIRONMENTS,
    HARDWARE,
    JOBS,
    MODELS,
    RAW,
    RESULTS,
    RUNS,
    Table,
)

_FROM_RECORDS = "`--fix` takes them from the record files below `--results`, if those are there"
_NO_RUN = f"run_id NOT IN (SELECT run_id FROM {RUNS.name})"
_NO_MODEL = f"r.model_id IS NOT NULL AND r.model_id NOT IN (SELECT model_id FROM {MODELS.name})"
_MODELS_OF_RESULTS = f"""
    INSERT INTO {MODELS.name} BY NAME
    SELECT model_id, arg_max(model, recorded_at) AS model, arg_max(family, recorded_at) AS family,
        arg_max(task, recorded_at) AS task, arg_max(modality, recorded_at) AS modality,
        NULL AS model_spec, min(recorded_at) AS seen_at
    FROM {RESULTS.name} r WHERE {_NO_MODEL} GROUP BY model_id
"""


def _lost(name: str, table: Table) -> Check:
    key = table.columns[0].name
    return Check(
        f"result without its {name}",
        of_results(
            f"r.{key} IS NOT NULL AND r.{key} NOT IN (SELECT {key} FROM {table.name})",
            f"'{key} ' || r.{key} || ' is not in {table.name}'",
        ),
        f"{_FROM_RECORDS}; else it takes such results out",
        imported="error",
        table=RESULTS,
    )


def _orphans(what: str, table: Table) -> Check:
    return Check(
        f"{what} without a result",
        f"""
        SELECT o.rowid AS place, o.result_id AS subject, NULL AS source,
            'in {table.name} alone' AS told
        FROM {table.name} o ANTI JOIN {RESULTS.name} USING (result_id)
        """,
        f"{_FROM_RECORDS}; else it takes such rows out",
        table=table,
    )


def _unknown() -> Iterator[Check]:
    for name, key in (("machine", "hardware_id"), ("environment", "environment_id")):
        yield Check(
            f"no {name} told",
            of_results(
                f"r.{key} IS NULL AND r.status = 'ok' AND {own()}",
                f"'{key} is null'",
            ),
            f"{_FROM_RECORDS}; else it takes such results out",
            table=RESULTS,
        )


REFERENCES = (
    Check(
        "result without its run",
        of_results(f"r.{_NO_RUN}", "'run_id ' || r.run_id || ' is not in benchmark_runs'"),
        "`--fix` infers the run from its records, as a merge does",
        imported="error",
        mends=(infer_runs(_NO_RUN),),
    ),
    _lost("machine", HARDWARE),
    _lost("environment", ENVIRONMENTS),
    Check(
        "result without its model",
        of_results(_NO_MODEL, "'model_id ' || r.model_id || ' is not in models'"),
        f"{_FROM_RECORDS}; else it keeps what the results say of the model, without `model_spec`",
        imported="error",
        mends=(_MODELS_OF_RESULTS,),
    ),
    *_unknown(),
    _orphans("raw durations", RAW),
    _orphans("job", JOBS),
    Check(
        "id that is not its run and cell",
        of_results(
            "r.result_id <> r.run_id || '/' || r.cell_id",
            "'run ' || r.run_id || ', cell ' || r.cell_id",
        ),
        "`--fix` takes such results out; merge their record files again",
        imported="error",
        table=RESULTS,
        outright=True,
    ),
    Check(
        "result without raw durations",
        of_results(
            f"{own()} AND r.latency_median_s IS NOT NULL",
            "'nothing can show how its statistics came about'",
            f"ANTI JOIN (SELECT result_id FROM {RAW.name} WHERE durations_ns IS NOT NULL) d"
            " USING (result_id)",
        ),
        "merge its record file into a new database",
        severity="warning",
    ),
)


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
