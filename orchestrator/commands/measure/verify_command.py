"""`verify`: checks that models work on the claimed device, and are right."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options.axes import AxisOptions, with_axes
from orchestrator.commands.options.common import DatabaseChoice, Select, command_line
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.program import chosen
from orchestrator.fleet.choice import FleetHosts
from orchestrator.running.options import Images, LauncherOption, RunOptions, Seed, WeightsSeed
from orchestrator.system.options import Json
from runner.contract.axes import AxisName
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.commands.measure.verification import Verification
    from orchestrator.commands.measure.verify import VerifyRequest
    from orchestrator.running.outcome import RunOutcome

_HELP: Mapping[AxisName, str] = {
    "model": "Models or sets.  [default: micro]",
    "backend": "Hardware paths.  [default: those that run here]",
    "runtime": "Runtimes.  [default: all that a backend has]",
    "precision": "Number formats.  [default: fp32; fp16 on qnn]",
    "mode": "What models do.  [default: inference; generation too by those that write]",
}


@dataclass(frozen=True, kw_only=True)
@with_axes(_HELP, _HELP)
class VerifyCommand(AxisOptions, FleetHosts, DatabaseChoice, Command):
    """Check that models work and are right, without timing."""

    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="MATRIX|BUNDLE",
            help="Check the cells of a matrix file; or an archive of `export --bundle`.",
            show_default=False,
        ),
    ] = None
    select: Select = None
    launcher: LauncherOption = "auto"
    seed: Seed = None
    weights_seed: WeightsSeed = 0
    image: Images = None
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the verdicts in a file, as JSON.")
    ] = None
    json: Json = False

    def execute(self) -> int:
        matrix = self.file if self.file and self.file.suffix in (".yaml", ".yml") else None
        if self.file is not None and matrix is None:
            self.refuse_beside(
                "a bundle", {field.name for field in fields(self)} - {"file", "json"}
            )
            return _verify_bundle(self.file, as_json=self.json)
        from orchestrator.commands.measure.verification import print_verification, save_verification
        from orchestrator.commands.measure.verify import VerifyRequest
        from orchestrator.screen.streams import after_work

        request = VerifyRequest(
            axes=self.axes,
            matrix=matrix,
            select=tuple(self.select or ()),
            results=self.results,
            options=RunOptions(
                launcher=self.launcher,
                database=self.database,
                seed=self.seed,
                weights_seed=self.weights_seed,
                image=self.image,
            ),
            command=command_line(),
            save=self.save,
        )
        verification, outcome = self._verified(request)
        with after_work():
            print_verification(verification, as_json=self.json)
        if self.save is not None:
            save_verification(verification, self.save)
        outcome.require_complete()
        return outcome.exit_code

    def _verified(self, request: "VerifyRequest") -> "tuple[Verification, RunOutcome]":
        if not self.on_fleet:
            from orchestrator.commands.measure.verify import verify_models
            from orchestrator.commands.program.progress import show_progress

            with show_progress(quiet=chosen.quiet) as observer:
                return verify_models(request, observer)
        from orchestrator.commands.measure.fleet.progress import show_fleet_progress
        from orchestrator.commands.measure.fleet.runs import verify_on_fleet

        with show_fleet_progress(quiet=chosen.quiet) as observer_of_hosts:
            return verify_on_fleet(request, self, observer_of_hosts)


def _verify_bundle(path: Path, *, as_json: bool) -> int:
    """Check an archive; the exit code says whether others can merge it."""
    if not path.suffix and not path.exists():
        raise UsageError(
            f"{path}: there is no such bundle; did you mean --model {path}?",
            hint="a bundle is a file that `orchestrator export --bundle FILE` wrote",
        )
    from orchestrator.commands.exchange.export_command import print_checked
    from orchestrator.exchange.bundles.check import open_bundle

    with open_bundle(path) as checked:
        print_checked(checked, as_json=as_json)
        return 0 if checked.sound else 1
