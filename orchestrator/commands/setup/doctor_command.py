"""`doctor`: the backends that this machine can run, and how far its processes agree."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.options.common import command_line
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.program import chosen
from orchestrator.running.options import HiddenScratch, LauncherOption, RunOptions
from orchestrator.system.files import RESULTS_FOLDER
from orchestrator.system.options import Json, Results
from runner.contract.errors import EngineUnavailable, UsageError

_LOOKS = ("all_", "calibrate", "browsers", "for_runner")
"""Fields of which one may be given."""


@dataclass(frozen=True, kw_only=True)
class DoctorCommand(Command):
    """Show which backends can run here, and what is missing.

    First what runs here, then what could and how. With --calibrate, measure a small model in 8
    fresh processes of each runtime: records of one process use what these differ by. With
    --browsers, compute in each browser that is found here, and say what works or the browser's own
    words. With --for-runner, the exit code is 4 if a job of a CI could not be measured here.
    """

    all_: Annotated[
        bool, typer.Option("--all", help="A row for each backend by each launcher.")
    ] = False
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate", help="Measure by how much fresh processes differ here; some minutes."
        ),
    ] = False
    browsers: Annotated[
        bool,
        typer.Option(
            "--browsers", help="Try wasm, webgpu and webnn in each browser; some seconds each."
        ),
    ] = False
    for_runner: Annotated[
        bool,
        typer.Option(
            "--for-runner", help="What this machine lacks as a runner of a CI, and its labels."
        ),
    ] = False
    launcher: LauncherOption = "auto"
    results: Results = RESULTS_FOLDER
    scratch: HiddenScratch = False
    json: Json = False

    def execute(self) -> int:
        """Look at the machine, or measure it."""
        given = [name for name in self.given() if name in _LOOKS]
        if len(given) > 1:
            self.refuse_beside(self.given()[given[1]], given[:1])
        if self.calibrate:
            return self._calibrate()
        if self.launcher != "auto" or self.results != RESULTS_FOLDER:
            raise UsageError(
                "--launcher and --results change nothing of what the doctor looks at",
                hint="they belong to --calibrate",
            )
        if self.browsers:
            from orchestrator.commands.setup.browsers import try_browsers
            from orchestrator.commands.setup.browsers_words import print_browsers

            print_browsers(try_browsers(), as_json=self.json)
            return 0
        if self.for_runner:
            from orchestrator.commands.setup.runner_machine import check_runner
            from orchestrator.commands.setup.runner_words import print_runner

            report = check_runner()
            print_runner(report, as_json=self.json)
            return 0 if report.is_ready else EngineUnavailable.exit_code
        from orchestrator.commands.setup.doctor_words import print_diagnoses
        from orchestrator.launchers.diagnosis import diagnose

        print_diagnoses(diagnose(), everything=self.all_, as_json=self.json)
        return 0

    def _calibrate(self) -> int:
        from orchestrator.commands.measure.calibrate import CalibrateRequest, calibrate
        from orchestrator.commands.measure.calibration_words import print_calibration
        from orchestrator.commands.measure.progress import show_progress
        from orchestrator.screen.streams import after_work

        options = RunOptions(launcher=self.launcher, scratch=self.scratch)
        request = CalibrateRequest(self.results, options, command_line())
        with show_progress(quiet=chosen.quiet) as observer:
            result = calibrate(request, observer)
        with after_work():
            print_calibration(result, as_json=self.json)
        result.outcome.require_complete()
        return result.outcome.exit_code
