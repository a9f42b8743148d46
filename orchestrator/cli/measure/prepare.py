"""`prepare`: exports the graphs of a matrix, as `run` does on its own; and clears away old ones."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.app import chosen
from orchestrator.cli.options import LauncherChoice, command_line, note
from orchestrator.system.files import RESULTS_FOLDER


def prepare(
    matrix: options.MatrixFileIfAny = None,
    select: options.Select = None,
    set_: options.Set = None,
    limit: options.Limit = None,
    launcher: options.Launcher = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    seed: options.Seed = 0,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="List graphs and references of other versions, and past preparations."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove what --prune lists.")] = False,
    json: options.Json = False,
) -> int:
    """Export every graph that a matrix needs and check it; `run` does so on its own."""
    from orchestrator.app.measure.prepare import failures, plan_preparation
    from orchestrator.app.measure.prepare import prepare as export
    from orchestrator.backends.machine import this_machine
    from orchestrator.launchers.registry import choose_launcher, make_launcher
    from orchestrator.matrix import load_matrix
    from orchestrator.planning.plan import make_plan
    from orchestrator.render.progress import show_progress
    from orchestrator.render.verify import print_prepared
    from orchestrator.running.create import Origin, Terms
    from runner.contract.selector import Selector

    if prune or yes:
        _refuse_beside_prune(prune, matrix=matrix, select=select, set=set_, limit=limit, seed=seed)
        return _clear(results, remove=yes, as_json=json)
    if matrix is None:
        raise typer.BadParameter("name a matrix file, or look for old graphs with --prune")
    plan = make_plan(
        load_matrix(matrix, set_ or []),
        selector=Selector(select or ()),
        limit=limit,
        machine=this_machine("prepare"),
    )
    for text in plan.notes:
        note(text)
    name = choose_launcher(launcher, note)
    origin = Origin(matrix.read_text("utf-8"), matrix, command_line())
    run = plan_preparation(plan, origin, results, Terms(launcher=name, seed=seed))
    with show_progress({}, quiet=chosen.quiet) as observer:
        prepared = export(run, results, make_launcher(name, observer.note), observer)
    print_prepared(prepared, as_json=json)
    return 1 if failures(prepared) else 0


def _refuse_beside_prune(prune: bool, **given: object) -> None:
    from runner.contract.errors import UsageError

    if not prune:
        raise UsageError("--yes removes nothing by itself", hint="it belongs to --prune")
    if any(given.values()):
        raise UsageError(
            "--prune looks at all that lies in the results folder, whatever a matrix needs",
            hint="leave out the matrix and all that selects from it",
        )


def _clear(results: Path, *, remove: bool, as_json: bool) -> int:
    from orchestrator.app.results.stale_files import find_stale_files, remove_stale_files
    from orchestrator.render.maintain import print_stale_files

    found = remove_stale_files(results, note) if remove else find_stale_files(results)
    print_stale_files(found, removed=remove, as_json=as_json)
    return 0
