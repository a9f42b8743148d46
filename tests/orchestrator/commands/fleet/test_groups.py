"""Placement `every`: a run for each class of hosts, and the group that they share."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.commands.measure.fleet_plan import place_matrix
from orchestrator.commands.measure.fleet_runs import folders_of
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.fleet.host import HostFacts
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from orchestrator.store import RunSummary, resolve_group
from runner.contract.errors import UsageError
from tests.orchestrator.fleet.test_units import HARDWARE, a_host
from tests.support.runs import a_run_folder
from tests.support.workplace import Workplace

GROUP = "group-20261124-080000-0000"
OLD = a_host()
NEW = a_host(hardware={**HARDWARE, "cpu_model": "a newer CPU"})
WITHOUT = a_host(unavailable={"fake": "no such device"})


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


def test_a_class_of_which_one_host_can_measure_has_its_cells(request_of_two: PlanRequest) -> None:
    assert cells(request_of_two, "every", a=OLD, b=WITHOUT) == {OLD.class_id: 4}
    assert cells(request_of_two, "every", a=NEW, b=WITHOUT) == {NEW.class_id: 4, OLD.class_id: 0}


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
