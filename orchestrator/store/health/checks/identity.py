"""Checks of identity: rows that are there twice, and rows that refer to missing ones."""

from orchestrator.store.health.checks.check import Check
from orchestrator.store.merge.dimensions import infer_runs
from orchestrator.store.schema.tables import JOBS, RAW, RESULTS

_FROM_RECORDS = "`--fix` takes them from the record files below `--results`, if those are there"

_DUPLICATES = (
    Check(
        "result twice",
        "`--fix` keeps the newest and takes the others out",
        imported="error",
        table=RESULTS,
        outright=True,
    ),
    Check(
        "raw durations twice",
        "`--fix` keeps those that agree with the result and takes the others out",
        imported="error",
        table=RAW,
        outright=True,
    ),
    Check(
        "job twice",
        "`--fix` keeps one and takes the others out",
        table=JOBS,
        outright=True,
    ),
    Check(
        "measurement under two runs",
        "`--fix` keeps the first and takes the others out",
        table=RESULTS,
        outright=True,
    ),
)

_REFERENCES = (
    Check(
        "result without its run",
        "`--fix` infers the run from its records, as a merge does",
        imported="error",
        statement=infer_runs("run_id NOT IN (SELECT run_id FROM benchmark_runs)"),
    ),
    Check(
        "result without its machine",
        f"{_FROM_RECORDS}; else it takes such results out",
        imported="error",
        table=RESULTS,
    ),
    Check(
        "result without its environment",
        f"{_FROM_RECORDS}; else it takes such results out",
        imported="error",
        table=RESULTS,
    ),
    Check(
        "result without its model",
        f"{_FROM_RECORDS}; else it keeps what the results say of the model, without `model_spec`",
        imported="error",
        repaired=True,
    ),
    Check(
        "no machine told",
        f"{_FROM_RECORDS}; else it takes such results out",
        table=RESULTS,
    ),
    Check(
        "no environment told",
        f"{_FROM_RECORDS}; else it takes such results out",
        table=RESULTS,
    ),
    Check(
        "raw durations without a result",
        f"{_FROM_RECORDS}; else it takes such rows out",
        table=RAW,
    ),
    Check(
        "job without a result",
        f"{_FROM_RECORDS}; else it takes such rows out",
        table=JOBS,
    ),
    Check(
        "id that is not its run and cell",
        "`--fix` takes such results out; merge their record files again",
        imported="error",
        table=RESULTS,
        outright=True,
    ),
    Check(
        "result without raw durations",
        "merge its record file into a new database",
        severity="warning",
    ),
)

IDENTITY = (*_DUPLICATES, *_REFERENCES)
