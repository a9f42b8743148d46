"""Plans and proposals take what a predictor says about this machine, and nothing about others."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.measure.plan import report_plan
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.options.axes import BenchOptions
from orchestrator.commands.predict import host_forecast as forecast
from orchestrator.commands.predict.host_forecast import find_forecast, host_forecast
from orchestrator.commands.predict.training import train_predictor
from orchestrator.commands.recommend import next_cells
from orchestrator.commands.recommend.next_cells import host_knowledge
from runner.contract.models import find
from tests.support.databases import write_records
from tests.support.records import EXAMPLE_HOST, a_record

KNOWN = {
    "model_spec": find("bert-tiny").model_dump_json(),
    "peak_flops_per_s": 1e11,
    "peak_bytes_per_s": 1e10,
}
WANTED = BenchOptions.of_axes({"model": ["bert-tiny"], "batch_size": ["1", "3"]})


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Batches that take 2 ms for each sample, and the predictor of their times."""
    folder = tmp_path_factory.mktemp("predicted")
    records = [
        a_record(**KNOWN, batch_size=size, durations_ns=[size * 2_000_000] * 3)
        for size in (1, 2, 4, 8, 16, 32)
    ]
    database = write_records(folder, records)
    train_predictor(database, "ours", lambda _: None)
    return database


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(forecast, "this_host", lambda: EXAMPLE_HOST)
    monkeypatch.setattr(next_cells, "this_host", lambda: EXAMPLE_HOST)
    return


def estimates(database: Path) -> dict[int, Any]:
    request = PlanRequest(WANTED, results=database.parent, find_forecast=find_forecast)
    rows = report_plan(request).cells()
    return {row["batch_size"]: row["estimated_by"] for row in rows}


@pytest.mark.slow
def test_a_size_that_was_not_measured_is_predicted(database: Path) -> None:
    assert estimates(database)[3] == "predicted"
    predictor = host_forecast(database)
    assert predictor is not None
    plan = report_plan(PlanRequest(WANTED, results=database.parent)).plan
    answers = predictor([entry.cell for entry in plan.entries], plan.models)
    assert answers[1].iteration_s == pytest.approx(0.006, rel=0.2)
    assert answers[1].memory_bytes is not None


@pytest.mark.slow
def test_intervals_are_those_of_predictions(database: Path) -> None:
    known = host_knowledge(database)
    plan = report_plan(PlanRequest(WANTED, results=database.parent)).plan
    widths = known.half_widths([entry.cell for entry in plan.entries], plan.models)
    assert widths is not None
    assert all(width > 0 for width in widths)
    assert len(known.placements) == 6


@pytest.mark.slow
def test_another_machine_is_not_predicted(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "this_host", lambda: "another")
    assert host_forecast(database) is None
    assert estimates(database)[3] == "arithmetic"


@pytest.mark.slow
def test_without_lightgbm_arithmetic_is_left(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        forecast, "find_spec", lambda name: None if name == "lightgbm" else found(name)
    )
    assert find_forecast(database) is None
    assert estimates(database)[3] == "arithmetic"


def test_without_a_predictor_nothing_is_found(tmp_path: Path) -> None:
    assert find_forecast(tmp_path / "none.duckdb") is None
    (tmp_path / "benchmarks.duckdb").touch()
    assert find_forecast(tmp_path / "benchmarks.duckdb") is None
