"""The rows that a predictor rests on: how many of each run, and a digest of their values."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from analysis.predict.examples.example_rows import PREDICTED_MODES, ExampleRows
from analysis.predict.examples.targets import PREDICTION_TARGETS
from analysis.results.source import ArrowSource, text

_MODES = ", ".join(map(text, PREDICTED_MODES))
_OURS = "SELECT run_id FROM benchmark_performance WHERE scenario = 'single_stream' AND mode IN"
_THEIRS = "SELECT run_id FROM imported_results WHERE coalesce(mode, 'inference') IN"


@dataclass(frozen=True)
class ChangedRows:
    """The rows of a database by those that a predictor was trained on."""

    added: int
    """Rows that came since."""
    removed: int
    """Rows that are no longer there."""


def rows_by_run(source: ArrowSource, *, imported: bool) -> dict[str, int]:
    """The number of rows of each run that predictors may learn from.

    Args:
        source: the database.
        imported: True if results that others measured are among them.
    """
    parts = [f"{_OURS} ({_MODES})", *([f"{_THEIRS} ({_MODES})"] if imported else [])]
    table = source.arrow(f"""
        SELECT run_id, count(*) AS rows FROM ({" UNION ALL ".join(parts)})
        GROUP BY run_id ORDER BY run_id
    """)
    return dict(zip(table["run_id"].to_pylist(), table["rows"].to_pylist(), strict=True))


def changed_rows(before: Mapping[str, int], now: Mapping[str, int]) -> ChangedRows:
    """The rows that came and went between two counts of rows by run."""
    changes = [now.get(run, 0) - before.get(run, 0) for run in {*before, *now}]
    return ChangedRows(
        added=sum(change for change in changes if change > 0),
        removed=-sum(change for change in changes if change < 0),
    )


def digest_of_rows(rows: ExampleRows) -> str:
    """SHA-256 of the ids and values of all examples, in hex; their order does not matter."""
    columns = [target.column for target in PREDICTION_TARGETS.values()]
    lines = sorted(
        "\t".join([str(row["result_id"]), *(repr(row[column]) for column in columns)])
        for row in rows.rows
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
