"""Run a matrix on the hosts of a fleet, finish such a run, verify models there, repeat a result."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from orchestrator.backends.catalogue import real_backends
from orchestrator.commands.fleet.hosts import (
    ReachedFleet,
    diagnose_fleet,
    open_fleet,
    own_journal,
    reach,
)
from orchestrator.commands.measure.fleet.plan import FleetPlan, place_matrix
from orchestrator.commands.measure.plan import source_of
from orchestrator.commands.measure.replay import Replay, replay_in
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.measure.run import ResumeRequest, RunResult, report_end
from orchestrator.commands.measure.verification import Verification, verification_of
from orchestrator.commands.measure.verify import VerifyRequest, require_writable, verification_plan
from orchestrator.fleet.choice import FleetChoice, FleetHosts
from orchestrator.fleet.execution import FleetExecution, FleetWork
from orchestrator.fleet.orders import FleetObserver, UnitWork
from orchestrator.fleet.units import PlacedRun, place, sub_plan
from orchestrator.planning.plan import RunSource
from orchestrator.running.create import create_run, require_resumable
from orchestrator.running.execution import estimates_s, telling_how_to_finish
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.running.replay import ReplayRequest, begin_replay, consented_original
from orchestrator.running.run_file import RUN_FILE, new_run_id, run_folders
from orchestrator.screen.words.reasons import reason_text
from orchestrator.store.query.runs import steps_back
from orchestrator.system.files import DATABASE_NAME
from orchestrator.system.text import format_duration, plural
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo, Unavailable, UsageError

_GROUP = "group-"
_LOCK = ".driver.lock"


@dataclass(frozen=True)
class FleetResult:
    """The ends of a fleet's runs: of one, or of one for each class of hosts."""

    runs: tuple[RunResult, ...]
    group_id: str | None = None
    """The id that they share; None for one run."""


def run_on_fleet(request: PlanRequest, choice: FleetChoice, observer: FleetObserver) -> FleetResult:
    """Plan a matrix for a fleet, and measure every cell that a host can."""
    choice = choice.within(request.parsed.fleet)
    placement = choice.placement or "any"
    with open_fleet(choice) as fleet:
        reached = reach(fleet, request.options, observer.note, every=placement == "every")
        plan = place_matrix(request, reached.facts, placement)
        _note_plan(plan, observer)
        options = replace(request.options, launcher=reached.launcher)
        runs = [run for run in plan.runs if run.units] or list(plan.runs[:1])
        group = f"{_GROUP}{new_run_id(request.results)}" if len(runs) > 1 else None
        shared = {"group_id": group, "hosts": tuple(choice.hosts or ())}
        placed = []
        for run in runs:
            changes = {**shared, "host_class": run.host_class}
            folder = create_run(run.plan, plan.source, request.results, options, changes)
            placed.append((folder, run))
        return _measure(placed, reached, observer, request.options, choice)


def resume_on_fleet(
    request: ResumeRequest, choice: FleetChoice, observer: FleetObserver
) -> FleetResult:
    """Measure what a run, or the runs of a group, have left."""
    if choice.placement is not None:
        raise UsageError(
            "--resume finishes what was planned, so --placement cannot change it",
            hint="leave it out, or start a new run without --resume",
        )
    source = source_of(request.matrix) if request.matrix else RunSource()
    folders = folders_of(request.results, request.run_id)
    for folder in folders:
        require_resumable(folder, source, request.options.database)
    with held(folders):
        left = {folder.path: folder.unfinished() for folder in folders}
        for folder in folders:
            if not left[folder.path]:
                merge_run(folder, request.options.database or folder.database).require_complete()
        if not any(left.values()):
            raise NothingToDo(f"run {request.run_id} has a verdict for each of its cells")
    run = folders[0].run
    choice = choice.placed(hosts=choice.hosts or list(run.hosts))
    options = replace(request.options, launcher=run.launcher, image=run.options.image)
    with open_fleet(choice) as fleet:
        reached = reach(fleet, options, observer.note, every=run.host_class is not None)
        placed = [
            (folder, _place_left(folder, reached, left[folder.path]))
            for folder in folders
            if left[folder.path]
        ]
        return _measure(placed, reached, observer, request.options, choice)


@contextmanager
def held(folders: Sequence[RunFolder]) -> Iterator[None]:
    with ExitStack() as stack:
        for folder in folders:
            lock = FileLock(folder.path / _LOCK)
            try:
                stack.enter_context(lock.acquire(timeout=0))
            except Timeout as error:
                raise UsageError(
                    f"run {folder.run.run_id} is being measured by another driver",
                    hint="wait for its end, or end it with Ctrl-C",
                ) from error
        yield


def folders_of(results: Path, name: str) -> list[RunFolder]:
    """The folder of a run, or those of a group's runs, the oldest first."""
    if steps_back(name) is not None and (group := RunFolder.open(results, name).run.group_id):
        name = group
    if not name.startswith(_GROUP):
        return [RunFolder.open(results, name)]
    named = f'"group_id":"{name}"'.encode()
    members = [path for path in run_folders(results) if named in (path / RUN_FILE).read_bytes()]
    if not members:
        raise UsageError(f"--resume: {name!r} is no group of runs in {results}")
    return [RunFolder.open(results, member.name) for member in members]


def _place_left(folder: RunFolder, reached: ReachedFleet, left: Collection[Cell]) -> PlacedRun:
    run = folder.run
    facts = {
        name: host
        for name, host in reached.facts.items()
        if run.host_class in (None, host.class_id)
    }
    return place(sub_plan(run.plan, left), facts, run.host_class)


def _note_plan(plan: FleetPlan, observer: FleetObserver) -> None:
    """Say what will be measured where, and what will not."""
    for note in dict.fromkeys(note for run in plan.runs for note in run.plan.notes):
        observer.note(note)
    for run in plan.runs:
        if run.host_class is not None and not run.units:
            description = next(host.description for host in run.hosts.values())
            reasons = dict.fromkeys(
                reason_text(entry.reason)
                for entry in run.plan.with_decision("skip")
                if entry.reason
            )
            observer.note(f"{description} measures nothing: {next(iter(reasons), None)}")
    cells = sum(len(unit.cells) for run in plan.runs for unit in run.units)
    count = len({name for run in plan.runs for name in run.hosts})
    observer.note(
        f"{cells:,} {plural(cells, 'cell')} on {count} {plural(count, 'host')}; about"
        f" {format_duration(round(plan.expected_s))}"
    )


def _measure(
    placed: list[tuple[RunFolder, PlacedRun]],
    reached: ReachedFleet,
    observer: FleetObserver,
    options: RunOptions,
    choice: FleetChoice,
) -> FleetResult:
    folders = [folder for folder, _ in placed]
    work = [
        UnitWork(replace(one.unit, id=f"{folder.run.run_id}/{one.unit.id}"), folder, one.cells)
        for folder, run in placed
        for one in run.units
    ]
    for folder, run in placed:
        cells = [cell for unit in run.units for cell in unit.cells]
        observer.run_started(estimates_s(folder, cells))
    first = folders[0]
    name = first.run.group_id or first.run.run_id
    finish = (
        f"`orchestrator run --resume {name} {choice.fleet_options}{first.elsewhere}` finishes it"
    )

    def unfinished() -> list[Cell]:
        return [cell for folder in folders for cell in folder.unfinished()]

    with held(folders), telling_how_to_finish(name, unfinished, finish, observer):
        skips = {folder.run.run_id: run.plan for folder, run in placed}
        wanted = FleetWork(folders, work, skips)
        presence, journal = reached.presence, own_journal()
        outcomes = FleetExecution(wanted, presence, observer, options, journal).run()
        results = [
            RunResult(report_end(folder, observer, options), outcome)
            for folder, outcome in zip(folders, outcomes, strict=True)
        ]
    return FleetResult(tuple(results), folders[0].run.group_id)


def verify_on_fleet(
    request: VerifyRequest, choice: FleetHosts, observer: FleetObserver
) -> tuple[Verification, RunOutcome]:
    """Check every model on every path, each on a host that has it."""
    if request.save is not None:
        require_writable(request.save)
    backends = request.axes.get("backend") or (() if request.matrix else _backends_of(choice))
    planned = verification_plan(request, backends, request.options.launcher)
    result = run_on_fleet(planned, choice.placed("any"), observer)
    folder = RunFolder.open(request.results, result.runs[0].report.run_id)
    return verification_of(folder, request.command), _outcome(result)


def _backends_of(choice: FleetHosts) -> tuple[Backend, ...]:
    runs, _ = diagnose_fleet(choice, real_backends())
    measurable = {backend for backends in runs.values() for backend in backends}
    backends = tuple(backend for backend in real_backends() if backend in measurable)
    if not backends:
        raise Unavailable(
            "no host of the fleet can measure any backend",
            hint="`orchestrator fleet doctor` tells what each lacks",
        )
    return backends


def replay_on_fleet(
    request: ReplayRequest, choice: FleetHosts, observer: FleetObserver
) -> tuple[Replay | None, RunOutcome]:
    """Measure one result again on a host, in the image that the host has."""
    database = request.database or request.results / DATABASE_NAME
    original = consented_original(request, database, observer)
    folder = begin_replay(original, request)
    options = RunOptions(database=database, inherit_environ=folder.run.options.inherit_environ)
    resumed = ResumeRequest(folder.run.run_id, request.results, options=options)
    outcome = _outcome(resume_on_fleet(resumed, choice.placed(), observer))
    again = f"{folder.run.run_id}/{original.cell.id}"
    return replay_in(database, original.measured, again), outcome


def _outcome(result: FleetResult) -> RunOutcome:
    outcome = result.runs[0].outcome
    assert isinstance(outcome, RunOutcome)
    return outcome
