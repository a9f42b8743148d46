"""Neighbours in a series that contradict their grades lose them, in SQL as in a run's report."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.results.run_report import report_runs
from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from runner.contract.record.files import rows, save_record
from runner.contract.record.record import Record
from tests.support.records import NOISY, RECORDED_AT, a_record

Facts = tuple[str, float, float, dict[str, Any]]


def result(grade: str, factor: float, half: float = 0.01, **facts: Any) -> Facts:
    """A result of that grade, so many times as slow, known within that share."""
    return grade, factor, half, facts


def offline(factor: float, batch_size: int) -> Facts:
    return result("C", factor, scenario="offline", batch_size=batch_size)


def peak(factor: float, low: float, high: float) -> Facts:
    bracket = {"peak_qps": low, "peak_qps_low": low, "peak_qps_high": high}
    return result("C", factor, scenario="server", slo_ms=100, **bracket)


CASES: list[tuple[list[Facts], str]] = [
    ([result("C", 1), result("C", 19)], "01"),
    ([result("C", 19), result("C", 1)], "01"),
    ([result("B", 1), result("C", 19)], "1"),
    ([result("C", 1), result("B", 19)], "0"),
    ([result("A", 1), result("A", 1.03)], "01"),
    ([result("A", 1), result("A", 1.01)], ""),
    ([result("B", 1), result("B", 1.04)], ""),
    ([result("C", 1), result("C", 1.15)], ""),
    ([result("A", 1), result("C", 1.15)], ""),
    ([result("C", 1), result("C", 1.25)], "01"),
    ([result("C", 1, 0.2), result("C", 1.25, 0.2)], ""),
    ([result("C", 1), result("D", 19)], ""),
    ([result("C", 1), result("D", 19), result("C", 19)], "02"),
    ([result("C", 1), result("C", 19), result("C", 19)], "01"),
    ([result("C", 1), result("C", 1.05), result("C", 19)], "12"),
    ([result("A", 1), result("A", 1.2), result("C", 1.1)], "01"),
    ([result("B", 1), result("A", 1.3), result("C", 1.2)], "0"),
    ([result("A", 1), result("B", 1.01), result("C", 1.1)], ""),
    ([result("C", 1), result("C", 19, libraries={"torch": "9"})], ""),
    ([result("C", 1, cpu_governor="performance"), result("C", 19, cpu_governor="powersave")], ""),
    ([result("C", 1, cpu_turbo=True), result("C", 19, cpu_turbo=True)], "01"),
    ([result("C", 1), result("C", 19, weights_seed=8)], ""),
    ([result("C", 1), result("C", 19, launcher="docker")], ""),
    ([offline(1, 32), offline(2, 64)], ""),
    ([offline(1, 32), offline(1, 64)], "01"),
    ([offline(1, 32), offline(2, 32)], "01"),
    ([peak(1, 100, 104), peak(19, 104, 109)], ""),
    ([peak(1, 100, 104), peak(1, 200, 208)], "01"),
    ([peak(1, 100, 200), peak(1, 130, 260)], ""),
    ([result("C", 1), result("C", 19, heat_s=60)], ""),
]
"""Results of one cell, hour by hour, and the hours of those that lose their grade."""


def records(case: int) -> Iterator[Record]:
    """A case's results, of a model named after it, in runs named after the hour."""
    for hour, (grade, factor, half, facts) in enumerate(CASES[case][0]):
        median = 0.003 * factor
        yield a_record(
            model=f"case-{case}",
            run_id=str(hour),
            recorded_at=RECORDED_AT + timedelta(hours=hour),
            durations_ns=[round(median * share * 1e9) for share in (0.8, 1, 1.2)],
            latency_median_low_s=median * (1 - half),
            latency_median_high_s=median * (1 + half),
            latency_precision=half,
            grade=grade,
            doubts=[NOISY],
            **facts,
        )


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contradictions")
    for record in chain.from_iterable(map(records, range(len(CASES)))):
        (folder / record.run_id).mkdir(exist_ok=True)
        save_record(record, folder / record.run_id)
    with Store.open(folder / "benchmarks.duckdb") as store:
        assert store.merge([folder]).damaged == ()
    return folder / "benchmarks.duckdb"


@pytest.mark.slow
def test_the_worse_graded_of_two_that_contradict_each_other_loses_its_grade_or_both(
    database: Path,
) -> None:
    named = rows(query(database, "SELECT DISTINCT model, run_id FROM contradictions ORDER BY ALL"))
    lost = {(row["model"], row["run_id"]) for row in named}
    expected = {(f"case-{case}", hour) for case, (_, losers) in enumerate(CASES) for hour in losers}
    assert lost == expected


@pytest.mark.parametrize("hour", range(3))
def test_a_runs_report_shows_the_grades_that_are_left(database: Path, hour: int) -> None:
    grades = {
        f"case-{case}": "D" if str(hour) in losers else results[hour][0]
        for case, (results, losers) in enumerate(CASES)
        if hour < len(results)
    }
    (report,) = report_runs(str(hour), database).runs
    assert {row.model: row.grade for row in report.results} == grades


def latest_results(database: Path) -> dict[str, dict[str, Any]]:
    found = rows(query(database, "FROM latest_results ORDER BY measured_at"))
    return {row["model"]: row for row in found}


def test_the_latest_results_have_the_grades_that_are_left(database: Path) -> None:
    latest = latest_results(database)
    for case, (results, losers) in enumerate(CASES):
        row, last = latest[f"case-{case}"], len(results) - 1
        loses = str(last) in losers
        assert (row["run_id"], row["grade"]) == (str(last), "D" if loses else results[last][0])
        assert bool(row["contradicted_by"]) == bool(row["contradicted_factor"]) == loses


def test_a_better_grade_is_one_that_no_neighbour_contradicts(database: Path) -> None:
    latest = latest_results(database)
    for case, (results, losers) in enumerate(CASES):
        row = latest[f"case-{case}"]
        kept = [grade for hour, (grade, *_) in enumerate(results[:-1]) if str(hour) not in losers]
        better = min((grade for grade in kept if grade < row["grade"]), default=None)
        assert row["better_grade"] == better, case
    named = [latest[f"case-{case}"]["better_grade"] for case in (0, 2, 14, 15, 16, 17)]
    assert named == [None, "B", "C", None, "A", "A"]


def test_a_contradiction_names_both_results_and_what_their_grades_promise(database: Path) -> None:
    (row,) = rows(query(database, "FROM contradictions WHERE model = 'case-2'"))
    assert (row["grade"], row["other_grade"], row["promise"]) == ("C", "B", 0.2)
    assert row["contradicted_by"] == f"0/{row['cell_id']}"
    assert row["ratio"] == pytest.approx(19)
    assert row["ratio_low"] < 19 < row["ratio_high"]
    (latest,) = rows(query(database, "FROM latest_results WHERE model = 'case-2'"))
    assert latest["contradicted_factor"] == pytest.approx(1 / 19)
    assert latest["better_grade"] == "B"


def test_the_ratio_of_offline_is_that_of_a_sample_wherever_it_is_told(database: Path) -> None:
    rows_of = {
        view: rows(query(database, f"FROM {view} WHERE model = 'case-24' ORDER BY run_id"))
        for view in ("contradictions", "history", "latest_results")
    }
    later = rows_of["contradictions"][1]
    assert later["ratio"] == pytest.approx(0.5)
    assert (later["latency_median_ms"], later["other_median_ms"]) == pytest.approx((3, 3))
    assert [row["ratio"] for row in rows_of["history"]] == [None, pytest.approx(0.5)]
    (latest,) = rows_of["latest_results"]
    assert latest["contradicted_factor"] == pytest.approx(2)
