"""Runs of a fleet that are finished later."""

from pathlib import Path

import pytest

from orchestrator.commands.fleet.hosts import FleetChoice
from orchestrator.commands.measure.fleet_runs import folders_of, held, resume_on_fleet
from orchestrator.commands.measure.host_progress import QuietFleetObserver
from orchestrator.commands.measure.run import ResumeRequest, resume_run
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from orchestrator.running.own_verdicts import save_verdicts
from orchestrator.store import Store
from runner.contract.errors import NothingToDo, UsageError
from runner.contract.reasons import reason
from tests.support.fakes import KeptObserver
from tests.support.runs import a_plan, a_run_folder


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
    assert [folder.run.run_id for folder in folders_of(tmp_path, "last")] == ["run-1", "run-2"]


def test_the_choice_of_hosts_is_repeated_in_options() -> None:
    choice = FleetChoice(hosts_file=Path("my hosts.yaml"), hosts=["lab*"])
    assert choice.fleet_options == "--fleet --hosts-file 'my hosts.yaml' --hosts 'lab*'"
