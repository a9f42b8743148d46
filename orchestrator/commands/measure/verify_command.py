"""`verify`: checks that models work on the claimed device, and are right."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.fleet.fleet_options import with_hosts
from orchestrator.commands.options import common as options
from orchestrator.commands.options.axes import axis_values, list_option
from orchestrator.commands.options.common import LauncherChoice, command_line
from orchestrator.commands.program.groups import with_options
from orchestrator.commands.program.program import chosen
from orchestrator.commands.program.refusals import refuse_beside
from orchestrator.system.files import RESULTS_FOLDER
from runner.contract.axes import AXES, AxisName

if TYPE_CHECKING:
    from orchestrator.commands.fleet.hosts import FleetChoice
    from orchestrator.commands.measure.verify import VerifyRequest, VerifyResult

_HELP: Mapping[AxisName, str] = {
    "model": "Models or sets.  [default: micro]",
    "backend": "Hardware paths.  [default: those that run here]",
    "runtime": "Runtimes.  [default: all that a backend has]",
    "precision": "Number formats.  [default: fp32; fp16 on qnn]",
    "mode": "What models do.  [default: inference; generation too by those that write]",
}
_OPTIONS = {
    name: option
    for axis in AXES
    if axis.name in _HELP
    for name, option in list_option(axis, _HELP[axis.name]).items()
}
_Save = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Keep the verdicts in a file, as JSON."),
]


_BundleIfAny = Annotated[
    Path | None,
    typer.Argument(
        metavar="BUNDLE",
        help="Check this archive of `export --bundle` instead.",
        show_default=False,
    ),
]


@with_options(2, _OPTIONS)
@with_hosts
def verify(
    fleet: "FleetChoice | None",
    context: typer.Context,
    bundle: _BundleIfAny = None,
    select: options.Select = None,
    launcher: options.LauncherOption = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    seed: options.Seed = None,
    weights_seed: options.WeightsSeed = 0,
    image: options.ChosenImage = None,
    save: _Save = None,
    json: options.Json = False,
    **axes: list[str] | None,
) -> int:
    """Check that models work and are right, without timing."""
    if bundle is not None:
        beside = {parameter.name for parameter in context.command.params} - {"bundle", "json"}
        refuse_beside(context, "a bundle", {name for name in beside if name})
        return _verify_bundle(bundle, as_json=json)
    values = axis_values({name: axes[name] for name in _HELP})
    from orchestrator.commands.measure.verification import save_verification
    from orchestrator.commands.measure.verify import VerifyRequest
    from orchestrator.commands.measure.verify_words import print_verification
    from orchestrator.screen.streams import after_work

    request = VerifyRequest(
        models=values["model"],
        backends=values["backend"],
        runtimes=values["runtime"],
        precisions=values["precision"],
        modes=values["mode"],
        select=tuple(select or ()),
        results=results,
        options=options.run_options(
            launcher=launcher,
            database=database,
            seed=seed,
            weights_seed=weights_seed,
            image=image,
        ),
        command=command_line(),
        save=save,
    )
    result = _verified(request, fleet)
    with after_work():
        print_verification(result.verification, as_json=json)
    if save is not None:
        save_verification(result.verification, save)
    result.outcome.require_complete()
    return result.outcome.exit_code


def _verified(request: "VerifyRequest", fleet: "FleetChoice | None") -> "VerifyResult":
    if fleet is None:
        from orchestrator.commands.measure.progress import show_progress
        from orchestrator.commands.measure.verify import verify_models

        with show_progress(quiet=chosen.quiet) as observer:
            return verify_models(request, observer)
    from orchestrator.commands.measure.fleet_runs import verify_on_fleet
    from orchestrator.commands.measure.host_progress import show_fleet_progress

    with show_fleet_progress(quiet=chosen.quiet) as observer_of_hosts:
        return verify_on_fleet(request, fleet, observer_of_hosts)


def _verify_bundle(path: Path, *, as_json: bool) -> int:
    """Check an archive; the exit code says whether others can merge it."""
    from runner.contract.errors import UsageError

    if not path.suffix and not path.exists():
        raise UsageError(
            f"{path}: there is no such bundle; did you mean --model {path}?",
            hint="a bundle is a file that `orchestrator export --bundle` wrote",
        )
    from orchestrator.commands.exchange.export_words import print_checked
    from orchestrator.exchange.bundles.check import check_bundle

    checked = check_bundle(path)
    print_checked(checked, as_json=as_json)
    return 0 if checked.sound else 1
