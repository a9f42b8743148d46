"""`doctor`: the backends that this machine can run, and how far its processes agree."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer
from pydantic import TypeAdapter

from analysis.results.table import Field, wrapping
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.backends.machine import require_stack
from orchestrator.commands.options.common import command_line
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.program import chosen
from orchestrator.launchers.diagnosis import SUPPORT_CLASSES, Diagnosis
from orchestrator.running.options import HiddenScratch, LauncherOption, RunOptions
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.files import RESULTS_FOLDER
from orchestrator.system.options import Json, Results
from runner.contract.axes import Backend
from runner.contract.errors import BenchError, EngineUnavailable, UsageError, how_to_install
from runner.contract.processes import python_environment
from runner.contract.reasons import parse_reason

_COLUMNS: tuple[str | Field, ...] = (
    *("backend", "launcher", "runs", "class"),
    *wrapping("why", "what to do"),
)
_BROWSER_COLUMNS: tuple[str | Field, ...] = (
    *("browser", "version", "backend", "works"),
    *wrapping("device, or why not"),
)
TRIAL_S = 900
_TRIAL = "runner.backends.onnxruntime_web.browser_trial"


def _summary(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    """The backends that run here, and those that could with the way to it."""
    running = [row for row in diagnoses if row.runs]
    possible = [row for row in diagnoses if row.could_run]
    yield f"Runs here: {_by_launcher(running)}." if running else "Nothing runs here yet."
    ways: dict[str, list[Diagnosis]] = {}
    for row in possible:
        ways.setdefault(row.remedy or row.reason, []).append(row)
    yield from (f"Could run: {_by_launcher(rows)}: {way}" for way, rows in ways.items())
    reachable = {row.backend for row in (*running, *possible)}
    rest = [row for row in diagnoses if row.backend not in reachable]
    groups = {
        "Not here": [row for row in rest if row.support_class is not None],
        "Not built": [row for row in rest if row.support_class is None],
    }
    absent = [f"{words}: {', '.join(_names(rows))}." for words, rows in groups.items() if rows]
    if absent:
        yield " ".join(absent)
    yield "Why: `orchestrator doctor --all`"


def _by_launcher(rows: Sequence[Diagnosis]) -> str:
    """Backends with the launchers that they share: `cpu, qnn (simulator), by docker`."""
    launchers: dict[str, list[str]] = {}
    for row in rows:
        launchers.setdefault(row.backend, []).append(row.launcher)
    groups: dict[str, list[Diagnosis]] = {}
    for row in rows:
        groups.setdefault(" and ".join(launchers[row.backend]), []).append(row)
    return "; ".join(f"{', '.join(_names(group))}, by {ways}" for ways, group in groups.items())


def _names(rows: Sequence[Diagnosis]) -> list[str]:
    """Each backend once, with a word where a simulator stands in for its device."""
    names = []
    for row in rows:
        simulator = CATALOGUE[row.backend].simulator if row.simulated else None
        names.append(f"{row.backend} ({simulator.word})" if simulator else row.backend)
    return list(dict.fromkeys(names))


def _print_all(diagnoses: Sequence[Diagnosis]) -> None:
    rows = [
        (row.backend, row.launcher, row.runs, row.support_class, row.reason, row.remedy)
        for row in diagnoses
    ]
    print_lines(_COLUMNS, rows)
    print_line()
    meanings = " · ".join(f"{number} {meaning}" for number, meaning in SUPPORT_CLASSES.items())
    print_line(f"support class: {meanings} · – not built yet")


@dataclass(frozen=True)
class BrowserFinding:
    """One backend in one browser."""

    browser: str
    """`our own`, `chromium`, `chrome`, `edge`, `firefox`, or the path that the user named."""
    executable: str
    version: str | None
    backend: Backend | None
    """The backend that was tried; None in a browser that is not driven."""
    works: bool
    message: str
    """The device, or the reason in the browser's own words."""


_FINDING = TypeAdapter(BrowserFinding)


def try_browsers(python: str = sys.executable) -> list[BrowserFinding]:
    """Execute a small graph by every backend in every browser; some seconds each."""
    require_stack("wasm", or_engine=False)
    try:
        done = subprocess.run(
            [python, "-P", "-m", _TRIAL],
            env=python_environment(),
            capture_output=True,
            text=True,
            timeout=TRIAL_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"the trial of browsers did not end within {TRIAL_S} s") from error
    if done.returncode != 0:
        words = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise BenchError(f"the trial of browsers failed: {words}")
    findings = [_FINDING.validate_json(line) for line in done.stdout.splitlines() if line]
    return [replace(one, message=reason_text(parse_reason(one.message))) for one in findings]


def _print_browsers(findings: Sequence[BrowserFinding], *, as_json: bool) -> None:
    if as_json:
        print_json(findings)
        return
    if not findings:
        print_line(f"There is no browser here: {how_to_install('browser')} installs one.")
        return
    rows = [(one.browser, one.version, one.backend, one.works, one.message) for one in findings]
    print_lines(_BROWSER_COLUMNS, rows)
    print_line()
    print_line("ACCELMATRIX_BROWSER takes one of them for `--launcher process`.")


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
            _print_browsers(try_browsers(), as_json=self.json)
        elif self.for_runner:
            from orchestrator.commands.setup.runner_machine import check_runner, print_runner

            report = check_runner()
            print_runner(report, as_json=self.json)
            return 0 if report.is_ready else EngineUnavailable.exit_code
        else:
            self._diagnose()
        return 0

    def _diagnose(self) -> None:
        from orchestrator.launchers.diagnosis import diagnose

        diagnoses = diagnose()
        if self.json:
            print_json([diagnosis.data() for diagnosis in diagnoses])
        elif self.all_:
            _print_all(diagnoses)
        else:
            for line in _summary(diagnoses):
                print_line(line)

    def _calibrate(self) -> int:
        from orchestrator.commands.measure.calibrate import calibrate, print_calibration
        from orchestrator.commands.program.progress import show_progress
        from orchestrator.screen.streams import after_work

        options = RunOptions(launcher=self.launcher, scratch=self.scratch)
        with show_progress(quiet=chosen.quiet) as observer:
            result = calibrate(self.results, options, command_line(), observer)
        with after_work():
            print_calibration(result, as_json=self.json)
        result.outcome.require_complete()
        return result.outcome.exit_code
