"""One word for each result, the same in Python and in SQL."""

from itertools import product

import duckdb
import pytest

from analysis.compatibility.verdicts import BEST_FIRST, verdict_of, verdict_sql

COLUMNS = "status VARCHAR, proof VARCHAR, correct BOOLEAN, latency DOUBLE, software_device BOOLEAN"
MARKS = [
    *product(("ok", "failed"), ("proven", "partial", "contradicted", "none"), (True, False, None))
]


def test_python_and_sql_agree_on_every_result() -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE r ({COLUMNS})")
        connection.executemany(
            "INSERT INTO r VALUES (?, ?, ?, 1.0, NULL)", [list(one) for one in MARKS]
        )
        rows = connection.execute(
            f"SELECT status, proof, correct, {verdict_sql('latency IS NOT NULL')} FROM r"
        ).fetchall()
    assert len(rows) == len(MARKS)
    assert all(verdict == verdict_of(*marks) for *marks, verdict in rows)
    assert {verdict for *_, verdict in rows} <= {*BEST_FIRST}


@pytest.mark.parametrize(
    ("latency", "software", "verdict"),
    [
        (0.1, None, "ok"),
        (0.1, False, "ok"),
        (0.1, True, "verified only"),
        (None, None, "verified only"),
    ],
)
def test_what_was_only_checked_is_told_from_what_a_device_was_timed_with(
    latency: float | None, software: bool | None, verdict: str
) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE r ({COLUMNS})")
        connection.execute("INSERT INTO r VALUES ('ok', 'proven', true, ?, ?)", [latency, software])
        question = f"SELECT {verdict_sql('latency IS NOT NULL')} FROM r"
        assert connection.execute(question).fetchall() == [(verdict,)]
