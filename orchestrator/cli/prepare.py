"""`prepare`: exports the graphs of a matrix, as `run` does on its own."""

from orchestrator.cli import options
from orchestrator.cli.app import chosen
from orchestrator.cli.measuring import command_line, note
from orchestrator.cli.options import LauncherChoice
from orchestrator.defaults import RESULTS


def prepare(
    matrix: options.MatrixFile,
    select: options.Select = None,
    set_: options.Set = None,
    limit: options.Limit = None,
    launcher: options.Launcher = LauncherChoice.auto,
    results: options.Results = RESULTS,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> int:
    """Export every graph that a matrix needs and check it; `run` does so on its own."""
    from orchestrator.begin import Origin, Terms
    from orchestrator.launchers.choose import choose_launcher, make_launcher
    from orchestrator.machine import this_machine
    from orchestrator.matrix import load_matrix
    from orchestrator.plan import make_plan
    from orchestrator.prepare import begin_preparation, failures
    from orchestrator.prepare import prepare as export
    from orchestrator.render.prepare import print_prepared
    from orchestrator.render.progress import show_progress
    from orchestrator.selector import Selector

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
    folder = begin_preparation(plan, origin, results, Terms(launcher=name, seed=seed))
    with show_progress({}, quiet=chosen.quiet) as observer:
        prepared = export(folder, results, make_launcher(name, observer.note), observer)
    print_prepared(prepared, as_json=json)
    return 1 if failures(prepared) else 0
