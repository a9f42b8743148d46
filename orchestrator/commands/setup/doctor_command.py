"""`doctor`: the backends that this machine can run, and how far its processes agree."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import LauncherChoice, command_line
from orchestrator.commands.program.program import chosen
from orchestrator.system.files import RESULTS_FOLDER


def doctor(
    all_: Annotated[
        bool, typer.Option("--all", help="A row for each backend by each launcher.")
    ] = False,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate", help="Measure by how much fresh processes differ here; some minutes."
        ),
    ] = False,
    browsers: Annotated[
        bool,
        typer.Option(
            "--browsers", help="Try wasm, webgpu and webnn in each browser; some seconds each."
        ),
    ] = False,
    for_runner: Annotated[
        bool,
        typer.Option(
            "--for-runner", help="What this machine lacks as a runner of a CI, and its labels."
        ),
    ] = False,
    launcher: options.LauncherOption = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    scratch: options.ScratchOfTests = False,
    json: options.Json = False,
) -> int:
    """Show which backends can run here, and what is missing.

    First what runs here, then what could and how. With --calibrate, measure a small model in 8
    fresh processes of each runtime: records of one process use what these differ by. With
    --browsers, compute in each browser that is found here, and say what works or the browser's own
    words. With --for-runner, the exit code is 4 if a job of a CI could not be measured here.
    """
    _require_one(all_=all_, calibrate=calibrate, browsers=browsers, for_runner=for_runner)
    if calibrate:
        return _calibrate(launcher, results, scratch=scratch, as_json=json)
    if launcher is not LauncherChoice.auto or results != RESULTS_FOLDER:
        from runner.contract.errors import UsageError

        raise UsageError(
            "--launcher and --results change nothing of what the doctor looks at",
            hint="they belong to --calibrate",
        )
    if browsers:
        from orchestrator.commands.setup.browsers import try_browsers
        from orchestrator.commands.setup.browsers_words import print_browsers

        print_browsers(try_browsers(), as_json=json)
        return 0
    if for_runner:
        return _look_at_runner(as_json=json)
    from orchestrator.commands.setup.doctor_words import print_diagnoses
    from orchestrator.launchers.diagnosis import diagnose

    print_diagnoses(diagnose(), everything=all_, as_json=json)
    return 0


def _look_at_runner(*, as_json: bool) -> int:
    from orchestrator.commands.setup.runner_machine import check_runner
    from orchestrator.commands.setup.runner_words import print_runner
    from runner.contract.errors import EngineUnavailable

    report = check_runner()
    print_runner(report, as_json=as_json)
    return 0 if report.is_ready else EngineUnavailable.exit_code


def _require_one(**chosen_looks: bool) -> None:
    from runner.contract.errors import UsageError

    given = [name for name, chosen_look in chosen_looks.items() if chosen_look]
    if len(given) > 1:
        first, second = (f"--{name.strip('_').replace('_', '-')}" for name in given[:2])
        raise UsageError(f"{first}: cannot be combined with {second}", hint="leave one of them out")


def _calibrate(launcher: LauncherChoice, results: Path, *, scratch: bool, as_json: bool) -> int:
    from orchestrator.commands.measure.calibrate import CalibrateRequest, calibrate
    from orchestrator.commands.measure.calibration_words import print_calibration
    from orchestrator.commands.measure.progress import show_progress
    from orchestrator.screen.streams import after_work

    run_options = options.run_options(launcher=launcher, database=None, scratch=scratch)
    request = CalibrateRequest(results, run_options, command_line())
    with show_progress(quiet=chosen.quiet) as observer:
        result = calibrate(request, observer)
    with after_work():
        print_calibration(result, as_json=as_json)
    result.outcome.require_complete()
    return result.outcome.exit_code
