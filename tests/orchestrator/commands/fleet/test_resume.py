"""Runs of a fleet that are finished later."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.commands.measure.fleet.plan import place_matrix
from orchestrator.commands.measure.fleet.progress import QuietFleetObserver
from orchestrator.commands.measure.fleet.runs import folders_of, held, resume_on_fleet
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.measure.run import ResumeRequest, resume_run
from orchestrator.fleet.choice import FleetChoice
from orchestrator.fleet.host import HostFacts
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import save_verdicts
from orchestrator.store.query.runs import RunSummary, resolve_group
from orchestrator.store.store import Store
from runner.contract.errors import NothingToDo, UsageError
from runner.contract.reasons import reason
from tests.orchestrator.fleet.test_units import HARDWARE, a_host
from tests.support.fakes import KeptObserver
from tests.support.runs import a_plan, a_run_folder
from tests.support.workplace import Workplace


def request(results: Path, name: str = "last") -> ResumeRequest:
    return ResumeRequest(name, results, options=RunOptions(scratch=True))


def ended(results: Path) -> RunFolder:
    """A run whose driver was killed before its records were in the database."""
    folder = a_run_folder(results, a_plan())
    save_verdicts(folder, KeptObserver(), folder.cells, "failed", reason("said", text="scripted"))
    return folder


def test_records_that_no_database_has_yet_are_merged(tmp_path: Path) -> None:
    folder = ended(tmp_path)
    with pytest.raises(NothingToDo):
        resume_on_fleet(request(tmp_path), FleetChoice(), QuietFleetObserver())
    with Store.open_readonly(folder.database) as store:
        assert len(store.verdicts(folder.run.run_id)) == 3


def test_a_placement_cannot_be_changed(tmp_path: Path) -> None:
    ended(tmp_path)
    choice = FleetChoice(placement="any")
    with pytest.raises(UsageError, match="--placement cannot change it"):
        resume_on_fleet(request(tmp_path), choice, QuietFleetObserver())


def test_a_run_has_one_driver_at_a_time(tmp_path: Path) -> None:
    folder = ended(tmp_path)
    with held([folder]), pytest.raises(UsageError, match="is being measured by another driver"):
        resume_on_fleet(request(tmp_path), FleetChoice(), QuietFleetObserver())


def test_a_class_of_hosts_is_not_measured_here(tmp_path: Path) -> None:
    run = a_run_folder(tmp_path / "draft").run
    RunFolder.create(tmp_path, run.model_copy(update={"host_class": "abcd", "group_id": "group-1"}))
    with pytest.raises(UsageError, match="one class of a fleet's hosts") as refused:
        resume_run(request(tmp_path), KeptObserver())
    assert refused.value.hint == "`orchestrator run --resume group-1 --fleet`"


def test_the_last_run_of_a_group_stands_for_all_of_it(tmp_path: Path) -> None:
    for name in ("run-1", "run-2"):
        run = a_run_folder(tmp_path / "draft", run_id=name).run
        RunFolder.create(tmp_path, run.model_copy(update={"group_id": "group-1"}))
    for word in ("last", "last~1"):
        folders = folders_of(tmp_path, word)
        assert [folder.run.run_id for folder in folders] == ["run-1", "run-2"]


def test_the_choice_of_hosts_is_repeated_in_options() -> None:
    choice = FleetChoice(hosts_file=Path("my hosts.yaml"), hosts=["lab*"])
    assert choice.fleet_options == "--fleet --hosts-file 'my hosts.yaml' --hosts 'lab*'"


GROUP = "group-20261124-080000-0000"
OLD = a_host()
NEW = a_host(hardware={**HARDWARE, "cpu_model": "a newer CPU"})


@pytest.fixture
def request_of_two(tmp_path: Path) -> PlanRequest:
    Workplace(tmp_path, "process").write_matrix(models=2, batch_sizes=[1, 2])
    options = RunOptions(launcher="process", scratch=True)
    return PlanRequest(tmp_path / "matrix.yaml", results=tmp_path / "results", options=options)


def cells(request: PlanRequest, placement: str, **hosts: HostFacts) -> dict[str | None, int]:
    kind = "every" if placement == "every" else "any"
    runs = place_matrix(request, hosts, kind).runs
    return {run.host_class: sum(len(unit.cells) for unit in run.units) for run in runs}


def test_any_places_each_cell_once_and_every_once_in_each_class(
    request_of_two: PlanRequest,
) -> None:
    fleet = {"a": OLD, "b": OLD, "c": NEW}
    assert cells(request_of_two, "any", **fleet) == {None: 4}
    assert cells(request_of_two, "every", **fleet) == {OLD.class_id: 4, NEW.class_id: 4}


def test_a_group_names_the_runs_that_belong_to_it(tmp_path: Path) -> None:
    for name in ("run-2", "run-1", "alone"):
        run = a_run_folder(tmp_path / "draft", run_id=name).run
        group = None if name == "alone" else GROUP
        RunFolder.create(tmp_path, run.model_copy(update={"group_id": group}))
    assert [folder.run.run_id for folder in folders_of(tmp_path, GROUP)] == ["run-1", "run-2"]
    assert [folder.run.run_id for folder in folders_of(tmp_path, "alone")] == ["alone"]
    with pytest.raises(UsageError, match="is no group of runs"):
        folders_of(tmp_path, "group-other")


def test_a_groups_runs_are_found_in_a_database() -> None:
    now = datetime.now(UTC)
    runs = [
        RunSummary(name, now, None, 1, {}, group_id=group)
        for name, group in (("run-2", GROUP), ("run-1", GROUP), ("alone", None))
    ]
    assert resolve_group(GROUP, runs, Path("db")) == ["run-1", "run-2"]
    assert resolve_group("alone", runs, Path("db")) == ["alone"]
    with pytest.raises(UsageError, match="'other' is not a run"):
        resolve_group("other", runs, Path("db"))
