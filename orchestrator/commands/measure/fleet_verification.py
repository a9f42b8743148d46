"""Models verified, and results repeated, on the hosts of a fleet."""

from orchestrator.backends.catalogue import real_backends
from orchestrator.commands.fleet.diagnosis import diagnose_fleet
from orchestrator.commands.measure.fleet_runs import FleetResult, resume_on_fleet, run_on_fleet
from orchestrator.commands.measure.replay import (
    ReplayRequest,
    ReplayResult,
    begin_replay,
    consented_original,
    replay_in,
)
from orchestrator.commands.measure.run import ResumeRequest
from orchestrator.commands.measure.verification import verification_of
from orchestrator.commands.measure.verify import (
    VerifyRequest,
    VerifyResult,
    require_writable,
    verification_plan,
)
from orchestrator.fleet.choice import FleetHosts
from orchestrator.fleet.observer import FleetObserver
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import RunOutcome
from orchestrator.system.files import DATABASE_NAME
from runner.contract.cell import Backend
from runner.contract.errors import Unavailable


def verify_on_fleet(
    request: VerifyRequest, choice: FleetHosts, observer: FleetObserver
) -> VerifyResult:
    """Check every model on every path, each on a host that has it.

    Raises:
        UsageError: an option or the hosts file is wrong.
        NothingToDo: no cell can run.
        Unavailable: no host answers, or none has a backend.
        StoreError: the results folder, the database or the file cannot be used.
    """
    if request.save is not None:
        require_writable(request.save)
    backends = request.axes.get("backend") or _backends_of(choice)
    planned = verification_plan(request, backends, request.options.launcher)
    result = run_on_fleet(planned, choice.placed("any"), observer)
    run_id = result.runs[0].report.run_id
    folder = RunFolder.open(request.results, run_id)
    return VerifyResult(verification_of(folder, request.command), _outcome(result))


def _backends_of(choice: FleetHosts) -> tuple[Backend, ...]:
    """The backends that some host can measure.

    Raises:
        Unavailable: no host has any.
    """
    runs = diagnose_fleet(choice, tuple(real_backends())).runs.values()
    backends = tuple(one for one in real_backends() if any(one in of_host for of_host in runs))
    if not backends:
        raise Unavailable(
            "no host of the fleet can measure any backend",
            hint="`orchestrator fleet doctor` tells what each lacks",
        )
    return backends


def replay_on_fleet(
    request: ReplayRequest, choice: FleetHosts, observer: FleetObserver
) -> ReplayResult:
    """Measure one result again on a host, in the image that the host has.

    Raises:
        UsageError: there is no such result, nothing was launched for it, or it is a stranger's and
            its record chose what the user did not agree to.
        Unavailable: no host answers.
        StoreError: the results folder or the database cannot be used.
    """
    database = request.database or request.results / DATABASE_NAME
    original = consented_original(request, database, observer)
    folder = begin_replay(original, request)
    options = RunOptions(database=database, inherit_environ=folder.run.options.inherit_environ)
    resumed = ResumeRequest(folder.run.run_id, request.results, options=options)
    outcome = _outcome(resume_on_fleet(resumed, choice.placed(), observer))
    again = f"{folder.run.run_id}/{original.cell.id}"
    return ReplayResult(replay_in(database, original.measured, again), outcome)


def _outcome(result: FleetResult) -> RunOutcome:
    outcome = result.runs[0].outcome
    assert isinstance(outcome, RunOutcome)
    return outcome
