"""The words of records, which the database keeps beside their codes for questions in SQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from duckdb import DuckDBPyConnection

from analysis.compatibility.verdicts import verdict_of
from analysis.results.source import OWN_SOURCES
from orchestrator.screen.words.doubts import doubt_text
from orchestrator.screen.words.reasons import reason_text, remedy_text
from orchestrator.screen.words.remedies import MEASURE_HERE
from orchestrator.store.merge.staging import registered
from orchestrator.store.schema.columns import names
from orchestrator.store.schema.tables import WORD_COLUMNS
from runner.contract.reasons import Reason, reason_from
from runner.contract.record.doubts import Doubt
from runner.contract.record.files import each_row
from runner.contract.record.record import Row

_COLUMNS = (
    *("result_id", "source", "status", "reason_code", "reason_facts", "proof", "correct"),
    *("correct_code", "correct_facts", "doubts"),
)
_ROWS_AT_ONCE = 10_000
_NAME = "worded"
_SCHEMA = pa.schema(
    [
        ("result_id", pa.string()),
        *(
            (column.name, pa.list_(pa.string()) if column.type == "VARCHAR[]" else pa.string())
            for column in WORD_COLUMNS
        ),
    ]
)


@contextmanager
def worded(connection: DuckDBPyConnection, records: str) -> Iterator[str]:
    """The name of a relation with the words of these records, by their ids."""
    rows: pa.Table = connection.sql(
        f"SELECT {', '.join(_COLUMNS)} FROM {records}"
        " WHERE status <> 'ok' OR proof <> 'proven' OR correct_code IS NOT NULL OR len(doubts) > 0"
    ).to_arrow_table()
    batches = [
        pa.RecordBatch.from_pylist(
            [*map(_words, each_row(rows.column_names, batch.columns))], _SCHEMA
        )
        for batch in rows.to_batches(_ROWS_AT_ONCE)
    ]
    with registered(connection, _NAME, pa.Table.from_batches(batches, _SCHEMA)):
        yield f"(SELECT result_id, {names(WORD_COLUMNS)} FROM {_NAME})"


def _words(row: Row) -> dict[str, Any]:
    ended = reason_from(row["reason_code"], row["reason_facts"])
    differs = reason_from(row["correct_code"], row["correct_facts"])
    doubts = row["doubts"]
    return {
        "result_id": row["result_id"],
        "reason": ended and reason_text(ended),
        "remedy": _remedy(row, ended or differs),
        "correct_reason": differs and reason_text(differs),
        "grade_reasons": None
        if doubts is None
        else [doubt_text(Doubt(**doubt)) for doubt in doubts],
    }


def _remedy(row: Row, explanation: Reason | None) -> str | None:
    verdict = verdict_of(row["status"], row["proof"], row["correct"])
    if row["source"] not in OWN_SOURCES:
        return MEASURE_HERE if verdict == "wrong" or row["status"] != "ok" else None
    is_unchecked = verdict == "unverified" and explanation is None
    return None if is_unchecked else remedy_text(verdict, explanation)
