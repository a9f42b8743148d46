"""What `run` and `bench` share: from their options to a finished run and its exit code."""

from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.app import chosen
from orchestrator.cli.options import LauncherChoice, Request, database_in, note

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.backends.catalogue import LauncherName
    from orchestrator.launchers.base import Launcher
    from orchestrator.launchers.registry import Note
    from orchestrator.matrix import Matrix
    from orchestrator.running.create import Origin
    from orchestrator.running.execution import RunResult, Settings
    from orchestrator.running.folder import RunFolder


def measure(matrix: "Matrix", origin: "Origin", request: Request) -> int:
    """Plan the matrix and run it, or show the plan; returns the exit code."""
    from orchestrator.backends.machine import this_machine
    from orchestrator.launchers.registry import choose_launcher, preview_launcher
    from orchestrator.planning.plan import make_plan
    from orchestrator.render.plan import print_plan
    from orchestrator.running.create import Terms, begin, past_durations
    from orchestrator.running.graphs import exports_left
    from runner.contract.selector import Selector

    purpose = request.purpose
    plan = make_plan(
        matrix,
        selector=Selector(request.select or ()),
        limit=request.limit,
        machine=this_machine(purpose),
        history=past_durations(database_in(request.results, request.database)),
    )
    if request.dry_run:
        launcher_type = preview_launcher(request.launcher)
        exports = exports_left(plan, request.results, launcher_type, request.seed)
        print_plan(plan, as_json=request.json, exports=exports)
        return 0
    for text in plan.notes:
        note(text)
    launcher = choose_launcher(request.launcher, note)
    terms = Terms(
        launcher=launcher,
        database=request.database,
        seed=request.seed,
        scratch=request.scratch,
        purpose=purpose,
        trace=request.trace,
    )
    return _execute(begin(plan, origin, request.results, terms), launcher, request)


def finish(run_id: str, matrix: Path | None, request: Request) -> int:
    """Run what an earlier run has left; returns the exit code."""
    from orchestrator.launchers.registry import choose_launcher
    from orchestrator.matrix import load_matrix
    from orchestrator.running.create import Origin, resume

    origin = Origin()
    if matrix is not None:
        load_matrix(matrix)
        origin = Origin(matrix.read_text("utf-8"), matrix)
    folder = resume(request.results, run_id, origin, request.database)
    earlier = folder.run.launcher
    asked = earlier if request.launcher == LauncherChoice.auto else request.launcher
    return _execute(folder, choose_launcher(asked, note), request)


def _execute(folder: "RunFolder", launcher: "LauncherName", request: Request) -> int:
    from orchestrator.backends.machine import this_machine
    from orchestrator.launchers.registry import make_launcher
    from orchestrator.render.results import print_results
    from orchestrator.running.execution import Settings
    from orchestrator.store import Store

    database = request.database or folder.database
    settings = Settings(
        database=database,
        fail_fast=request.fail_fast,
        budget_s=request.budget_s,
        memory_bytes=this_machine().memory_bytes,
    )
    outcome = execute(folder, lambda tell: make_launcher(launcher, tell), settings)
    for cell_id, reason in folder.failed_traces().items():
        note(f"{cell_id}: no trace: {reason}")
    with Store.open_readonly(database) as store:
        rows = store.results(folder.run.run_id)
    print_results(rows, folder.run.run_id, database, as_json=request.json, traces=folder.traces())
    outcome.merged.require_complete()
    return outcome.exit_code


def execute(
    folder: "RunFolder", launcher: "Callable[[Note], Launcher]", settings: "Settings"
) -> "RunResult":
    """Run what the folder has left, with progress; `launcher` is made with a place for notes."""
    from orchestrator.render.progress import show_progress
    from orchestrator.running.execution import RETRIED, RunExecution

    left = set(folder.left(RETRIED))
    estimates = {
        entry.cell.id: entry.estimate_s for entry in folder.run.plan.entries if entry.cell in left
    }
    try:
        with show_progress(estimates, quiet=chosen.quiet) as observer:
            return RunExecution(folder, launcher(observer.note), observer, settings).run()
    except KeyboardInterrupt:
        count = len(folder.left(RETRIED))
        note(f"run {folder.run.run_id} was interrupted with {count} cells left")
        note("`orchestrator run --resume last` finishes it")
        raise
