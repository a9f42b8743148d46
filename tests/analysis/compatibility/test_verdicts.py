"""One word for each result, the same in Python and in SQL."""

from itertools import product

import duckdb

from analysis.compatibility.verdicts import BEST_FIRST, verdict_of, verdict_sql

COLUMNS = "status VARCHAR, proof VARCHAR, correct BOOLEAN, latency DOUBLE"
MARKS = [
    *product(("ok", "failed"), ("proven", "partial", "contradicted", "none"), (True, False, None))
]


def test_python_and_sql_agree_on_every_result() -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE r ({COLUMNS})")
        connection.executemany("INSERT INTO r VALUES (?, ?, ?, 1.0)", [list(one) for one in MARKS])
        rows = connection.execute(
            f"SELECT status, proof, correct, {verdict_sql('latency IS NOT NULL')} FROM r"
        ).fetchall()
    assert len(rows) == len(MARKS)
    assert all(verdict == verdict_of(*marks) for *marks, verdict in rows)
    assert {verdict for *_, verdict in rows} <= {*BEST_FIRST}


def test_what_was_only_checked_is_told_from_what_was_timed() -> None:
    row = "SELECT 'ok' AS status, 'proven' AS proof, true AS correct, NULL AS latency"
    question = f"SELECT {verdict_sql('latency IS NOT NULL')} FROM ({row})"
    assert duckdb.sql(question).fetchall() == [("verified only",)]
