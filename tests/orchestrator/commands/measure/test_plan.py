"""What a run may be asked for."""

from pathlib import Path

import pytest

from orchestrator.backends.machine import host_facts
from orchestrator.commands.measure import plan as planning
from orchestrator.commands.measure.plan import past_speeds, plan_jobs, plan_run
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.options.bench import BenchOptions
from orchestrator.store import Store
from runner.contract.errors import UsageError
from runner.contract.record import save_record
from tests.support.records import a_record


def test_a_plan_too_large_for_one_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text("version: 1\naxes: {model: bert-tiny, batch_size: [1, 2, 3]}\n")
    monkeypatch.setattr(planning, "MOST_RUN_CELLS", 2)
    with pytest.raises(UsageError, match="3 cells are more than the 2 that one run may") as caught:
        plan_run(PlanRequest(matrix, results=tmp_path))
    assert "--limit" in str(caught.value.hint)
    plan, source = plan_run(PlanRequest(matrix, results=tmp_path, limit=2))
    assert (len(plan.entries), source.matrix) == (2, matrix.read_text())


def remember(database: Path, **facts: object) -> str:
    """Merge a record that this host made; returns its cell's id."""
    record = a_record(batch_size=1, **host_facts(), **facts)
    elsewhere = a_record(batch_size=2, hostname="another-host")
    with Store.open(database) as store:
        store.merge([save_record(made, database.parent) for made in (record, elsewhere)])
    return record.cell_id


def test_speeds_are_remembered_on_the_same_host(tmp_path: Path) -> None:
    database = tmp_path / "benchmarks.duckdb"
    assert past_speeds(database) == {}
    cell_id = remember(database)
    assert list(past_speeds(database)) == [cell_id]
    assert past_speeds(database)[cell_id].iteration_s > 0


def test_an_unreadable_database_remembers_nothing(tmp_path: Path) -> None:
    database = tmp_path / "benchmarks.duckdb"
    database.write_bytes(b"no database at all" * 500)
    assert past_speeds(database) == {}


def test_a_pipeline_gets_the_minutes_of_the_profile_that_is_asked_for(tmp_path: Path) -> None:
    remember(tmp_path / "benchmarks.duckdb", profile="quick", iterations=10, steady_time_s=1)

    def minutes(profile: str) -> int:
        options = BenchOptions.of_axes({"model": ["bert-tiny"]}, profile=profile)
        (job,) = plan_jobs(PlanRequest(options, results=tmp_path))
        return job.estimate_minutes

    assert minutes("quick") == 1
    assert minutes("audit") >= 10
