"""Joules of different energy scopes: nothing compares them, or ranks them against each other."""

from collections.abc import Iterator
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


def compared(store: Store, **options: Any) -> Any:
    return compare_results(SelectionRequest(store.path, **options), "backend", metric="energy")


@pytest.fixture(scope="module")
def on_three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open_readonly(write_records(tmp_path_factory.mktemp("three"), ON_THREE)) as store:
        yield store


def test_backends_are_compared_within_a_scope(on_three: Store) -> None:
    comparison = compared(on_three)
    (group,) = comparison.groups
    assert [(row.name, row.result.value) for row in group.rows] == [("cpu", 4), ("openvino", 3)]
    assert (comparison.alone, comparison.left_out.of_other_scopes) == (1, 1)


def test_where_nothing_else_is_left_the_scopes_are_the_reason(on_three: Store) -> None:
    with pytest.raises(NothingToDo, match=r"other energy scopes: board, package \+ dram$"):
        compared(on_three, filters={"backend": ("cpu", "cuda")})


def test_another_scope_is_another_series(tmp_path: Path) -> None:
    later = {"run_id": RUN, "recorded_at": RECORDED_AT + timedelta(days=1)}
    words = ("package, now package + dram", "unknown, now board")
    database = write_records(
        tmp_path,
        [
            *(drew(2.0, "package", run_id=BASE), drew(4.0, HOST, **later)),
            *(drew(2.0, None, run_id=BASE, batch_size=2), drew(4.0, BOARD, **later, batch_size=2)),
        ],
    )
    selected = SelectionRequest(database)
    with Store.open_readonly(database) as store:
        with pytest.raises(NothingToDo) as refused:
            compare_run_pair(selected, BASE, RUN, metric="energy")
        assert all(f"1 of another energy scope: {scopes}" in str(refused.value) for scopes in words)
        answer = judge_regressions(RegressionRequest(selected, BASE, RUN, ("energy", "latency")))
        for number, scopes in zip((1, 2), words, strict=True):
            verdicts = {
                one.metric.name: one
                for one in answer.judgements.judgements
                if f"-b{number}-" in one.cell_id
            }
            assert verdicts["energy"].verdict == "not comparable"
            assert verdicts["energy"].reason == f"another energy scope: {scopes}"
            assert verdicts["latency"].verdict != "not comparable"
        trends = trends_of(store, Selection(every=True), METRICS["energy"])
    assert (trends.series, trends.once) == ((), 4)


def test_a_chart_names_the_least_of_each_scope(on_three: Store) -> None:
    (chart,) = energy_rows(on_three, Selection())
    (alone,) = energy_rows(on_three, Selection("r.backend = 'cuda'"))
    assert "The least of board is 1 J per sample, of cuda torch in" in chart.sentence
    assert "The least of package + dram is 3 J per sample, of openvino in" in chart.sentence
    assert "Joules of different scopes do not compare." in chart.sentence
    assert alone.sentence.startswith("The least is 1 J per sample, of cuda torch in")
