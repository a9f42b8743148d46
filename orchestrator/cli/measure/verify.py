"""`verify`: does everything work here, and is it right?"""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.measure.measure import execute
from orchestrator.cli.options import LauncherChoice, command_line, note
from orchestrator.system.files import RESULTS_FOLDER

Models = Annotated[list[str] | None, typer.Option(help="Models or sets.  [default: micro]")]
Backends = Annotated[
    list[str] | None, typer.Option(help="Hardware paths.  [default: those that run here]")
]
Runtimes = Annotated[
    list[str] | None, typer.Option(help="Runtimes.  [default: all that a backend has]")
]
Precision = Annotated[
    list[str] | None, typer.Option(help="Number formats.  [default: fp32; fp16 on qnn]")
]
Modes = Annotated[
    list[str] | None, typer.Option(help="What models do.  [default: inference,generation]")
]
Save = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Keep the verdicts; docs/verified.json feeds the README."),
]


BundleIfAny = Annotated[
    Path | None,
    typer.Argument(
        metavar="BUNDLE",
        help="Check this archive of `export --bundle` instead.",
        show_default=False,
    ),
]


def verify(
    context: typer.Context,
    bundle: BundleIfAny = None,
    models: Models = None,
    backends: Backends = None,
    runtimes: Runtimes = None,
    precision: Precision = None,
    modes: Modes = None,
    select: options.Select = None,
    launcher: options.Launcher = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    seed: options.Seed = 0,
    save: Save = None,
    json: options.Json = False,
) -> int:
    """Check function, device and correctness of every model on every path, without timing."""
    if bundle is not None:
        beside = {each.name for each in context.command.params} - {"bundle", "json"}
        options.refuse_beside(context, "a bundle", beside)
        return _verify_bundle(bundle, as_json=json)
    from orchestrator.app.measure.verify import MODES, require_place, verified, verify_matrix
    from orchestrator.app.measure.verify import save as keep
    from orchestrator.app.setup.doctor import runnable
    from orchestrator.backends.machine import this_machine
    from orchestrator.launchers.registry import choose_launcher, make_launcher
    from orchestrator.matrix.from_options import split
    from orchestrator.planning.plan import make_plan
    from orchestrator.render.verify import print_verified
    from orchestrator.running.create import Origin, Terms, begin
    from orchestrator.running.execution import Settings
    from runner.contract.selector import Selector

    if save is not None:
        require_place(save)
    name = choose_launcher(launcher, note)
    matrix = verify_matrix(
        split(models or ()) or ["micro"],
        split(backends or ()) or runnable(name),
        split(runtimes or ()),
        split(precision or ()),
        split(modes or ()) or MODES,
    )
    machine = this_machine("verify")
    plan = make_plan(matrix, selector=Selector(select or ()), machine=machine)
    for text in plan.notes:
        note(text)
    origin = Origin(command=command_line())
    terms = Terms(launcher=name, database=database, seed=seed, purpose="verify")
    folder = begin(plan, origin, results, terms)
    settings = Settings(database or folder.database, memory_bytes=machine.memory_bytes)
    outcome = execute(folder, lambda tell: make_launcher(name, tell), settings)
    found = verified(folder, command_line())
    print_verified(found, as_json=json)
    if save is not None:
        keep(found, save)
    outcome.merged.require_complete()
    return outcome.exit_code


def _verify_bundle(path: Path, *, as_json: bool) -> int:
    """Check an archive; the exit code says whether others can merge it."""
    from orchestrator.app.results.export import check_bundle
    from orchestrator.render.exports import print_checked

    checked = check_bundle(path)
    print_checked(checked, as_json=as_json)
    return 0 if checked.sound else 1
