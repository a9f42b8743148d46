from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.planning.plan import Plan, RunSource
from orchestrator.running.create import create_run, reopen_run
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from runner.contract.errors import NothingToDo, StoreError, UsageError
from runner.contract.job import Provenance
from runner.contract.record.verdict import Status
from tests.support.jobs import fake_cell
from tests.support.records import record_for
from tests.support.runs import a_plan, a_run_folder

HERE = Provenance(launcher="process", orchestrator_version="0")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "benchmarks.duckdb"


SCRATCH = RunOptions(launcher="process", seed=7, scratch=True)
OPTIONS_ALONE = RunSource()


def begin_scratch(plan: Plan, results: Path, source: RunSource = OPTIONS_ALONE) -> RunFolder:
    return create_run(plan, source, results, SCRATCH)


def a_source(text: str, path: str = "matrix.yaml") -> RunSource:
    return RunSource(matrix=text, matrix_path=Path(path))


def give(folder: RunFolder, *statuses: Status) -> None:
    for cell, status in zip(folder.cells, statuses, strict=False):
        folder.save(record_for(folder.run.job([cell], HERE), cell, status=status))


def test_a_new_run_keeps_all_that_was_asked(results: Path) -> None:
    plan = a_plan()
    run = begin_scratch(plan, results, a_source("version: 1\n")).run
    assert (run.matrix, run.matrix_path) == ("version: 1\n", Path("matrix.yaml"))
    assert (run.launcher, run.seed, run.options.scratch, run.plan) == ("process", 7, True, plan)
    assert run.hostname
    assert RunFolder.open(results, "last").run == run


def test_a_seed_is_drawn_once_and_resumed_with(results: Path, database: Path) -> None:
    options = RunOptions(launcher="process", scratch=True, weights_seed=4)
    runs = [create_run(a_plan(), OPTIONS_ALONE, results, options).run for _ in range(2)]
    first, second = (run.seed for run in runs)
    assert first != second
    assert [run.options.weights_seed for run in runs] == [4, 4]
    resumed = reopen_run(results, runs[0].run_id, OPTIONS_ALONE, database)
    assert resumed.run.job(resumed.cells[:1], HERE).seed == first


def test_a_run_keeps_what_its_cells_are_measured_for(results: Path, database: Path) -> None:
    options = replace(SCRATCH, verify_only=True, trace=True)
    create_run(a_plan(), OPTIONS_ALONE, results, options)
    resumed = reopen_run(results, "last", OPTIONS_ALONE, database)
    job = resumed.run.job(resumed.cells, HERE)
    assert (job.purpose, job.trace, job.round) == ("verify", True, 1)


def test_fake_rows_are_refused_before_anything_is_made(results: Path) -> None:
    with pytest.raises(StoreError, match="fake backend"):
        create_run(a_plan(), OPTIONS_ALONE, results, RunOptions(launcher="process"))
    assert not results.exists()


def test_a_plan_without_cells_says_what_took_them(results: Path) -> None:
    plan = Plan(
        entries=(), notes=("--select drops all",), whole=False, models={}, measure={}, limits={}
    )
    with pytest.raises(NothingToDo, match="no cell is left") as caught:
        begin_scratch(plan, results)
    assert (caught.value.hint, caught.value.exit_code) == ("--select drops all", 3)
    assert not results.exists()


def test_resuming_has_those_cells_left_that_had_no_chance(results: Path, database: Path) -> None:
    cells = [fake_cell(2**power) for power in range(5)]
    give(a_run_folder(results, a_plan(cells)), "ok", "failed", "lost", "unavailable")
    resumed = reopen_run(results, "last", OPTIONS_ALONE, database)
    assert resumed.unfinished() == cells[2:]


def test_a_cell_that_is_planned_to_be_skipped_waits_for_its_verdict(
    results: Path, database: Path
) -> None:
    plan = a_plan([fake_cell(1)], skips={fake_cell(2): "no"})
    give(a_run_folder(results, plan), "ok")
    resumed = reopen_run(results, "last", OPTIONS_ALONE, database)
    assert resumed.due(resumed.cells, 1) == [fake_cell(2)]


def test_nothing_is_forgotten_when_resuming_is_refused(results: Path, database: Path) -> None:
    folder = a_run_folder(results)
    give(folder, "lost", "lost", "lost")
    with pytest.raises(UsageError):
        reopen_run(results, "last", a_source("another"), database)
    assert folder.due(folder.cells, 1) == []


def test_a_resumed_run_goes_on_with_its_own_database(results: Path, tmp_path: Path) -> None:
    named = tmp_path / "elsewhere.duckdb"
    options = replace(SCRATCH, database=named)
    create_run(a_plan(), OPTIONS_ALONE, results, options)
    assert reopen_run(results, "last", OPTIONS_ALONE).database == named
    begin_scratch(a_plan(), results)
    assert reopen_run(results, "last", OPTIONS_ALONE).database == results / "benchmarks.duckdb"
