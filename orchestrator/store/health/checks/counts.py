"""What is worth knowing, and nothing is wrong with."""

from orchestrator.store.health.checks.check import Check
from orchestrator.store.schema.tables import QUARANTINE, RESULTS, RUNS

_UNEVEN = f"""
    SELECT u.rowid AS place, u.run_id AS subject, NULL AS source,
        coalesce(verdicts, 0) || ' verdicts, ' || u.planned || ' planned' AS told
    FROM {RUNS.name} u LEFT JOIN (
        SELECT run_id, count(*) AS verdicts FROM {RESULTS.name} GROUP BY run_id
    ) USING (run_id)
    WHERE u.planned <> coalesce(verdicts, 0)
"""
_KEPT = f"""
    SELECT rowid AS place, coalesce(result_id, table_name) AS subject, NULL AS source,
        table_name || ', ' || reason AS told
    FROM {QUARANTINE.name}
"""

COUNTS = (
    Check(
        "run with more or fewer verdicts than planned",
        _UNEVEN,
        "`orchestrator run --resume` ends a run that was interrupted",
        severity="note",
    ),
    Check(
        "in quarantine",
        _KEPT,
        "ask `SELECT * FROM quarantine`; docs/health.md says how to bring a row back",
        severity="note",
    ),
)
