"""Checks of identity, duplicates, and of the marks that say where a result comes from."""

from orchestrator.store.health.checks.check import Check, RecordCheck
from orchestrator.store.merge.dimensions import infer_runs
from orchestrator.store.schema.tables import ACCEPTED, JOBS, RAW, RESULTS, RUNS

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
        "accepted change without a result",
        f"{_FROM_RECORDS}; else it takes such rows out",
        table=ACCEPTED,
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


_TIMES = (
    RecordCheck(
        "outside the calendar",
        "`--fix` takes such results out",
        imported="error",
        table=RESULTS,
        outright=True,
    ),
    RecordCheck(
        "recorded in the future",
        "set the clock; `--fix` takes such results out",
        imported="error",
        table=RESULTS,
        outright=True,
    ),
    Check(
        "measured in the future",
        "ask whoever wrote the file",
        severity="warning",
    ),
    RecordCheck(
        "interleaved with itself",
        "`--fix` takes such results out",
        imported="error",
        table=RESULTS,
        outright=True,
    ),
    Check(
        "run at an impossible time",
        "`--fix` takes the run's times from its records; a run without any is taken out",
        repaired=True,
        table=RUNS,
    ),
)

_PROOFS = (
    RecordCheck(
        "ok without a measurement",
        "`--fix` derives the statistics from raw durations, or takes the result out",
        imported="note",
        table=RESULTS,
    ),
    RecordCheck(
        "proof without evidence",
        "`--fix` withdraws the proof, so that no default view shows the result",
        repaired=True,
    ),
    RecordCheck(
        "proof of what others measured",
        "`--fix` withdraws the proof",
        imported="error",
        repaired=True,
    ),
    RecordCheck(
        "simulated, and called ours",
        "`--fix` takes such results out",
        table=RESULTS,
        outright=True,
    ),
    RecordCheck(
        "marked, and not called simulated",
        "`--fix` calls it simulated",
        imported="error",
        repaired=True,
    ),
    Check(
        "in a default view, and not ours",
        "`--fix` makes the views anew",
        imported="error",
        views=("benchmark_performance", "failures"),
    ),
    Check(
        "made up, in a real database",
        "`--fix` takes such results out; a scratch database takes them",
        imported="error",
        table=RESULTS,
        outright=True,
    ),
    Check(
        "ok, and not proven",
        "no default view shows it; `evidence` tells why",
        severity="note",
    ),
)

_COUNTS = (
    Check(
        "run with more or fewer verdicts than planned",
        "`orchestrator run --resume` ends a run that was interrupted",
        severity="note",
    ),
    Check(
        "in quarantine",
        "ask `SELECT * FROM quarantine`; the copy that `--fix` made has each row in its place",
        severity="note",
    ),
)

CLAIMS = (*_TIMES, *_PROOFS, *_COUNTS)
