"""Results of software in a device's place: shown if asked for, and no answer rests on them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.compare.values import selected_values
from analysis.predict.examples.example_rows import example_rows
from analysis.recommend.this_host import host_verdicts
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from orchestrator.commands.compatibility.answer import report_compatibility
from orchestrator.commands.recommend.answer import (
    CandidateRequest,
    RecommendationRequest,
    recommend_cells,
)
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.store.store import Store
from runner.contract.record.record import Record
from tests.support.databases import write_records
from tests.support.records import EXAMPLE_HOST, a_record

DEFAULT_VIEWS = (
    *("benchmark_performance", "latest_results", "history", "generation_results"),
    *("arrival_results", "offline_curve", "efficiency", "contradictions"),
)


def a_software_record(milliseconds: float = 1, **changes: Any) -> Record:
    """A proven, correct result of SwiftShader that is faster than all else."""
    usual = {
        "backend": "webgpu",
        "runtime": "onnxruntime_web",
        "software_device": True,
        "device_name": "SwiftShader (software) on Example CPU",
        "latency_median_s": milliseconds / 1000,
    }
    return a_record(**usual | changes)


RECORDS = [
    a_record(latency_median_s=0.010, grade="A"),
    a_software_record(grade="A"),
    a_software_record(2, grade="A", run_id="20261122-120000-later"),
    a_software_record(mode="generation", new_tokens=32),
    a_software_record(scenario="server", target_qps=50.0, achieved_qps=49.5),
    a_software_record(batch_size=4, software_device=False, device_name="H200"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open_readonly(write_records(tmp_path_factory.mktemp("software"), RECORDS)) as store:
        yield store


@pytest.mark.parametrize("view", DEFAULT_VIEWS)
def test_no_default_view_has_it(store: Store, view: str) -> None:
    names = store.arrow(f"SELECT hardware FROM {view} WHERE backend = 'webgpu'")["hardware"]
    assert {*names.to_pylist()} <= {"H200"}


def test_views_of_everything_have_it_marked(store: Store) -> None:
    (row,) = store.arrow("""
        SELECT count(*) AS count, bool_and(hardware LIKE 'SwiftShader (software) on %') AS marked
        FROM benchmark_performance_all WHERE software_device
    """).to_pylist()
    assert row == {"count": 4, "marked": True}


def test_a_comparison_takes_it_only_if_asked_and_says_what_it_is(store: Store) -> None:
    usual = selected_values(store, Selection(), METRICS["latency"])
    asked = selected_values(store, Selection(unquotable=True), METRICS["latency"])
    assert {one.facts["hardware"] for one in usual.values} == {"Example CPU", "H200"}
    assert usual.unquotable == 3
    assert {one.marks for one in asked.values} == {(), ("software in the device's place",)}


def test_nothing_is_recommended_or_learned_from_it(store: Store) -> None:
    request = CandidateRequest({"model": ("bert-tiny",), "batch_size": (1,)})
    (choice,) = recommend_cells(RecommendationRequest(store.path, request)).choices
    assert choice.ranking is not None
    assert {row.candidate.cell.backend for row in choice.ranking.rows} == {"cpu"}
    rows = example_rows(store, imported=False).rows
    verdicts = host_verdicts(store, EXAMPLE_HOST)
    assert not any(row["hardware"].startswith("SwiftShader") for row in rows)
    assert {cell.split("-")[0] for cell in verdicts.measured} == {"cpu", "webgpu"}
    assert "webgpu-bert-tiny-fp32-b1-s128-inference" not in verdicts.measured


@pytest.mark.slow
def test_that_it_works_counts_and_its_speed_does_not(tmp_path: Path) -> None:
    database = write_records(tmp_path, [RECORDS[0], a_software_record()])
    report = report_compatibility(SelectionRequest(database))
    assert {one.backend: one.level for one in report.ratings} == {
        "cpu": "High",
        "webgpu": "verified only",
    }
