"""Joules of different energy scopes: nothing compares them, or ranks them against each other."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from analysis.charts.efficiency import energy_rows
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.trend.trends import trends_of
from orchestrator.commands.compare.answer import compare_results, compare_run_pair
from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.store.store import Store
from runner.contract.errors import NothingToDo
from runner.contract.record.record import Record
from tests.support.databases import write_records
from tests.support.records import RECORDED_AT, a_record
from tests.support.verdicts import BASE, RUN

HOST, BOARD = "package + dram", "board"
GPU = {"backend": "cuda", "device_name": "Example GPU"}
OPENVINO = {"backend": "openvino", "runtime": "openvino"}


def drew(joules: float, scope: str | None = HOST, **changes: Any) -> Record:
    energy = {"energy_per_sample_joules": joules, "energy_scope": scope}
    return a_record(grade="A", **energy, **changes)


ON_THREE = [drew(4.0), drew(3.0, **OPENVINO), drew(1.0, BOARD, **GPU)]


def compared(database: Path) -> Any:
    return compare_results(SelectionRequest(database), "backend", metric="energy")


def test_backends_are_compared_within_a_scope(tmp_path: Path) -> None:
    comparison = compared(write_records(tmp_path, ON_THREE))
    (group,) = comparison.groups
    assert [(row.name, row.result.value) for row in group.rows] == [("cpu", 4), ("openvino", 3)]
    assert (comparison.alone, comparison.left_out.of_other_scopes) == (1, 1)


def test_where_nothing_else_is_left_the_scopes_are_the_reason(tmp_path: Path) -> None:
    with pytest.raises(NothingToDo, match=r"other energy scopes: board, package \+ dram$"):
        compared(write_records(tmp_path, [drew(4.0), drew(1.0, BOARD, **GPU)]))


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        ("package", HOST, r"another energy scope: package, now package \+ dram"),
        (None, BOARD, "another energy scope: unknown, now board"),
    ],
)
def test_another_scope_is_another_series(
    tmp_path: Path, then: str | None, now: str, words: str
) -> None:
    later = {"run_id": RUN, "recorded_at": RECORDED_AT + timedelta(days=1)}
    database = write_records(tmp_path, [drew(2.0, then, run_id=BASE), drew(4.0, now, **later)])
    selected = SelectionRequest(database)
    with pytest.raises(NothingToDo, match=f"1 of {words}"):
        compare_run_pair(selected, BASE, RUN, metric="energy")
    answer = judge_regressions(RegressionRequest(selected, BASE, RUN, ("energy", "latency")))
    verdicts = {one.metric.name: one for one in answer.judgements.judgements}
    assert verdicts["energy"].verdict == "not comparable"
    assert verdicts["energy"].reason == words.replace("\\", "")
    assert verdicts["latency"].verdict != "not comparable"
    with Store.open_readonly(database) as store:
        trends = trends_of(store, Selection(every=True), METRICS["energy"])
    assert (trends.series, trends.once) == ((), 2)


def test_a_chart_names_the_least_of_each_scope(tmp_path: Path) -> None:
    with Store.open_readonly(write_records(tmp_path, ON_THREE)) as store:
        (chart,) = energy_rows(store, Selection())
        (alone,) = energy_rows(store, Selection("r.backend = 'cuda'"))
    assert "The least of board is 1 J per sample, of cuda torch in" in chart.sentence
    assert "The least of package + dram is 3 J per sample, of openvino in" in chart.sentence
    assert "Joules of different scopes do not compare." in chart.sentence
    assert alone.sentence.startswith("The least is 1 J per sample, of cuda torch in")
