"""Levels of models on backends, and the one word for each result, the same in Python and in SQL."""

from itertools import product
from typing import Any

import duckdb
import pytest

from analysis.compatibility.ratings import Rating, rate
from analysis.compatibility.verdicts import (
    BEST_FIRST,
    Evidence,
    KnownVerdict,
    Rate,
    verdict_of,
    verdict_sql,
)

BATCH_1, BATCH_8 = (1,), (8,)


def a_rate(backend: str, samples_per_s: float, **changes: Any) -> Rate:
    facts = {"cell": BATCH_1, "runtime": "torch", "precision": "fp32", "verdict": "ok"}
    return Rate(
        backend=backend,
        samples_per_s=samples_per_s,
        **{**facts, "grade": "B", "source": "accelmatrix", **changes},
    )


def a_verdict(
    backend: str, verdict: str = "ok", reason: str | None = None, **changes: Any
) -> KnownVerdict:
    return KnownVerdict(
        **{"cell": BATCH_1, "results": 1, "is_ours": True, "remedy": None, **changes},
        backend=backend,
        verdict=verdict,
        reason=reason,
    )


def rated(rates: list[Rate], findings: list[KnownVerdict], backend: str = "cuda") -> Rating:
    measured = [a_verdict(one.backend, cell=one.cell, verdict=one.verdict) for one in rates]
    cpu = a_rate("cpu", 100.0)
    known = Evidence(
        "bert", "embedding", "inference", (cpu, *rates), (a_verdict("cpu"), *measured, *findings)
    )
    other = Evidence("other", None, "inference", (), (a_verdict("cuda"),))
    return next(one for one in rate([known, other]) if one.backend == backend)


@pytest.mark.parametrize(
    ("rates", "findings", "level", "verdict"),
    [
        ([a_rate("cuda", 60.0)], [], "High", None),
        ([a_rate("cuda", 20.0)], [], "Medium", None),
        ([a_rate("cuda", 2.0)], [], "Low", None),
        ([a_rate("cuda", 900.0, verdict="unverified")], [], "Low", "unverified"),
        ([a_rate("cuda", 900.0, verdict="wrong")], [], "N/A", "wrong"),
        ([], [a_verdict("cuda", "partial")], "Low", "partial"),
        ([], [a_verdict("cuda", "unproven")], "N/A", "unproven"),
        ([], [a_verdict("cuda", "unsupported", "no kernel")], "N/A", "unsupported"),
        ([], [a_verdict("cuda", "failed", "broken")], "N/A", "failed"),
        ([], [a_verdict("cuda", "verified only")], "verified only", None),
        (
            [],
            [a_verdict("cuda", "verified only"), a_verdict("cuda", "unavailable", "simulator")],
            "verified only",
            None,
        ),
        ([], [a_verdict("cuda", "unavailable", "no GPU here")], "not tried", "unavailable"),
        ([], [a_verdict("cuda", "lost", "the job ended")], "not tried", "lost"),
        (
            [],
            [a_verdict("cuda", "unavailable", "no GPU"), a_verdict("cuda", "failed", "broken")],
            "N/A",
            "failed",
        ),
        (
            [],
            [a_verdict("cuda", "unavailable", "no GPU"), a_verdict("cuda", "unsupported", "no")],
            "not tried",
            "unavailable",
        ),
        ([], [], "not measured", None),
        ([a_rate("cuda", 60.0)], [a_verdict("cuda", "lost", "died", cell=BATCH_8)], "High", None),
    ],
)
def test_levels(
    rates: list[Rate], findings: list[KnownVerdict], level: str, verdict: str | None
) -> None:
    rating = rated(rates, findings)
    assert rating.level == level
    assert (rating.obstacle and rating.obstacle.verdict) == verdict


def test_a_backend_that_fails_where_another_works_has_limits() -> None:
    failure = a_verdict("cuda", "out_of_memory", "killed", cell=BATCH_8, remedy="more memory")
    alone = rated([a_rate("cuda", 90.0)], [failure])
    beside = rated([a_rate("cuda", 90.0), a_rate("cpu", 500.0, cell=BATCH_8)], [failure])
    assert (alone.level, beside.level) == ("High", "Low")
    assert beside.obstacle is not None
    assert beside.obstacle.remedy == "more memory"


def test_shares_are_of_the_best_backend_in_the_same_cell() -> None:
    rates = [
        *(a_rate("cuda", 80.0), a_rate("cuda", 50.0, cell=BATCH_8)),
        a_rate("cpu", 500.0, cell=BATCH_8),
        a_rate("cuda", 7.0, cell=("alone",)),
    ]
    rating = rated(rates, [])
    assert (rating.share, rating.share_low, rating.share_high) == (0.45, 0.1, 0.8)
    assert (rating.cells, rating.compared) == (3, 2)


def test_what_others_measured_is_rated_and_named() -> None:
    rating = rated([a_rate("cuda", 60.0, verdict="unverified", source="timm")], [])
    assert (rating.level, rating.source) == ("High", "timm")
    assert rated([a_rate("cuda", 60.0)], []).source is None


def test_what_must_not_be_quoted_is_nobodys_measure() -> None:
    rates = [a_rate("cuda", 1000.0, verdict="wrong")]
    assert rated(rates, [], "cpu").level == "High"
    assert rated([*rates, a_rate("cuda", 60.0)], []).share == 0.6


def test_the_most_frequent_reason_of_the_best_verdict_stands_for_all() -> None:
    findings = [
        a_verdict("cuda", "unsupported", "no kernel", results=9),
        a_verdict("cuda", "failed", "rare"),
        a_verdict("cuda", "failed", "frequent", results=2),
    ]
    obstacle = rated([], findings).obstacle
    assert obstacle is not None
    assert (obstacle.verdict, obstacle.reason) == ("failed", "frequent")


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
