"""Run a matrix on the hosts of a fleet, or finish such a run."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.app.fleet.choice import FleetChoice
from orchestrator.app.fleet.placing import PlacedRun, place_matrix, place_run
from orchestrator.app.fleet.reaching import open_fleet, own_journal, reach
from orchestrator.app.measure.plan import run_source
from orchestrator.app.measure.request import PlanRequest
from orchestrator.app.measure.run import ResumeRequest, RunResult, report_end
from orchestrator.backends.catalogue import LauncherName
from orchestrator.fleet.driving import FleetExecution, Reach, UnitWork
from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.observing import FleetObserver
from orchestrator.fleet.units import sub_plan
from orchestrator.running.create import create_run, require_resumable
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import RUN_FILE, new_run_id
from orchestrator.system.text import format_duration, plural
from runner.contract.errors import NothingToDo, UsageError

_GROUP = "group-"


@dataclass(frozen=True)
class FleetResult:
    """The ends of a fleet's runs: of one, or of one for each class of hosts."""

    runs: tuple[RunResult, ...]
    group_id: str | None = None
    """The id that they share; None for one run."""

    @property
    def exit_code(self) -> int:
        """That of the first run that did not end well; 0 if all did."""
        return next((run.exit_code for run in self.runs if run.exit_code), 0)


def run_on_fleet(request: PlanRequest, choice: FleetChoice, observer: FleetObserver) -> FleetResult:
    """Plan a matrix for a fleet, and measure every cell that a host can.

    Raises:
        UsageError: the matrix, the hosts file or an option is wrong.
        NothingToDo: no cell of the plan would run.
        Unavailable: no host answers.
        StoreError: the results folder or the database cannot be used.
    """
    choice = choice.within(request.read().fleet)
    with open_fleet(choice) as fleet:
        hosts = reach(fleet, request.options, observer.note)
        facts = {name: host.facts for name, host in hosts.items()}
        plan = place_matrix(request, facts, choice.placement or "any")
        for note in plan.runs[0].plan.notes:
            observer.note(note)
        options = request.options.model_copy(update={"launcher": _launcher(request, facts)})
        runs = [run for run in plan.runs if run.units] or list(plan.runs[:1])
        group = f"{_GROUP}{new_run_id(request.results)}" if len(runs) > 1 else None
        folders = [
            create_run(
                run.plan,
                plan.source,
                request.results,
                options,
                {"group_id": group, "host_class": run.host_class},
            )
            for run in runs
        ]
        cells = sum(len(unit.cells) for run in runs for unit in run.units)
        count = len(facts)
        observer.note(
            f"{cells:,} cells on {count} {plural(count, 'host')}; about"
            f" {format_duration(round(plan.expected_s))}"
        )
        return _measure(list(zip(folders, runs, strict=True)), hosts, observer, request.options)


def resume_on_fleet(
    request: ResumeRequest, choice: FleetChoice, observer: FleetObserver
) -> FleetResult:
    """Measure what a run, or the runs of a group, have left.

    Raises:
        UsageError: there is no such run, or the matrix named with it is another one.
        NothingToDo: each cell has a verdict.
        Unavailable: no host answers.
        StoreError: a run's folder or the database cannot be used.
    """
    source = run_source(request.matrix)
    folders = folders_of(request.results, request.run_id)
    for folder in folders:
        require_resumable(folder, source, request.options.database)
    left = {folder.path: folder.unfinished() for folder in folders}
    if not any(left.values()):
        raise NothingToDo(f"run {request.run_id} has a verdict for each of its cells")
    launcher: LauncherName = folders[0].run.launcher
    options = request.options.model_copy(update={"launcher": launcher})
    with open_fleet(choice) as fleet:
        hosts = reach(fleet, options, observer.note)
        placed = [
            (folder, _place_left(folder, hosts, {cell.id for cell in left[folder.path]}))
            for folder in folders
            if left[folder.path]
        ]
        return _measure(placed, hosts, observer, request.options)


def folders_of(results: Path, name: str) -> list[RunFolder]:
    """The folder of a run, or those of a group's runs, the oldest first.

    Raises:
        UsageError: there is neither.
        StoreError: a run.json is damaged.
    """
    if not name.startswith(_GROUP):
        return [RunFolder.open(results, name)]
    named = f'"group_id":"{name}"'.encode()
    files = sorted(results.glob(f"[!.]*/{RUN_FILE}"))
    members = [path.parent.name for path in files if named in path.read_bytes()]
    if not members:
        raise UsageError(f"--resume: {name!r} is no group of runs in {results}")
    return [RunFolder.open(results, member) for member in members]


def _place_left(
    folder: RunFolder, hosts: Mapping[str, Reach], wanted: Collection[str]
) -> PlacedRun:
    run = folder.run
    facts = {
        name: host.facts
        for name, host in hosts.items()
        if run.host_class in (None, host.facts.class_id)
    }
    cells = [cell for cell in folder.cells if cell.id in wanted]
    return place_run(sub_plan(run.plan, cells), facts, run.host_class)


def _launcher(request: PlanRequest, facts: Mapping[str, HostFacts]) -> LauncherName:
    """The launcher of all hosts: what one measures must be comparable to the other's results."""
    if request.options.launcher != "auto":
        return request.options.launcher
    return "docker" if {host.launcher for host in facts.values()} == {"docker"} else "process"


def _measure(
    placed: list[tuple[RunFolder, PlacedRun]],
    hosts: Mapping[str, Reach],
    observer: FleetObserver,
    options: RunOptions,
) -> FleetResult:
    work = [one for folder, run in placed for one in _work(folder, run)]
    wanted = {cell.id for one in work for cell in one.cells}
    folders = [folder for folder, _ in placed]
    observer.run_started(
        {
            entry.cell.id: entry.estimate_s
            for folder in folders
            for entry in folder.run.plan.entries
            if entry.cell.id in wanted
        }
    )
    with _told_how_to_finish(folders, observer):
        outcomes = FleetExecution(folders, work, hosts, observer, options, own_journal()).run()
    results = [
        RunResult(report_end(folder, observer, options), outcome)
        for folder, outcome in zip(folders, outcomes, strict=True)
    ]
    return FleetResult(tuple(results), folders[0].run.group_id)


def _work(folder: RunFolder, run: PlacedRun) -> Iterator[UnitWork]:
    for placed in run.units:
        unit = replace(placed.unit, id=f"{folder.run.run_id}/{placed.unit.id}")
        yield UnitWork(unit, folder, placed.cells)


@contextmanager
def _told_how_to_finish(folders: list[RunFolder], observer: FleetObserver) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        count = sum(len(folder.unfinished()) for folder in folders)
        first = folders[0]
        name = first.run.group_id or first.run.run_id
        observer.note(f"{name} was interrupted with {count} cells left")
        observer.note(f"`orchestrator run --resume {name} --fleet{first.elsewhere}` finishes it")
        raise
