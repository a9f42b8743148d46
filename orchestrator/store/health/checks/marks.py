"""Checks of moments, claims and counts: times in the future, proofs without evidence, odd plans."""

from orchestrator.store.health.checks.check import Check
from orchestrator.store.schema.tables import RESULTS, RUNS

_TIMES = (
    Check(
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
    Check(
        "run at an impossible time",
        "`--fix` takes the run's times from its records; a run without any is taken out",
        repaired=True,
        table=RUNS,
    ),
)

_PROOFS = (
    Check(
        "ok without a measurement",
        "`--fix` derives the statistics from raw durations, or takes the result out",
        imported="note",
        table=RESULTS,
    ),
    Check(
        "proof without evidence",
        "`--fix` withdraws the proof, so that no default view shows the result",
        repaired=True,
    ),
    Check(
        "proof of what others measured",
        "`--fix` withdraws the proof",
        imported="error",
        repaired=True,
    ),
    Check(
        "simulated, and called ours",
        "`--fix` takes such results out",
        table=RESULTS,
        outright=True,
    ),
    Check(
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
        "ask `SELECT * FROM quarantine`; docs/health.md says how to bring a row back",
        severity="note",
    ),
)

CLAIMS = (*_TIMES, *_PROOFS, *_COUNTS)
