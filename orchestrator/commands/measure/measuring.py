"""The common part of `run` and `bench`: options, measurement and output."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.options.common import DatabaseChoice, DryRun, command_line
from orchestrator.commands.options.table import TableOptions
from orchestrator.commands.options.verdict import RequireGrade, share
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_side
from orchestrator.commands.program.program import chosen
from orchestrator.fleet.choice import FleetChoice
from orchestrator.running.options import RunOptions
from orchestrator.system.options import Force, Json
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.commands.measure.baselines import NamedBaseline
    from orchestrator.commands.measure.fleet.runs import FleetResult
    from orchestrator.commands.measure.request import PlanRequest
    from orchestrator.commands.measure.run import RunResult
    from orchestrator.running.observer import Observer


@dataclass(frozen=True, kw_only=True)
class Against:
    """The options of a comparison."""

    compare_to: Annotated[
        str | None,
        typer.Option(
            metavar="last|RUN|SNAPSHOT|MATRIX|CHECKOUT",
            help="Judge the run against a baseline, as `regress --baseline` does; with"
            " --interleave also another matrix, whose models differ, or the folder of another"
            " checkout of AccelMatrix with its environment.",
            autocompletion=complete_side,
        ),
    ] = None
    interleave: Annotated[
        bool,
        typer.Option(
            "--interleave",
            help="Measure the baseline's version again, side by side: in the images that its"
            " records name, or by the runner of its checkout.",
        ),
    ] = False
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="The least change that matters, e.g. 5%.  [default: 5%, interleaved 3%]",
            parser=share("--threshold"),
        ),
    ] = None


_OF_VERDICTS = (".md", ".markdown", ".xml")
"""Ends of the names of files that take verdicts alone, as Markdown or JUnit."""


@dataclass(frozen=True, kw_only=True)
class Measuring(RunOptions, FleetChoice, Against, TableOptions, DatabaseChoice, Command):
    """A command that measures what a matrix holds, here or on a fleet."""

    dry_run: DryRun = False
    require_grade: RequireGrade = None
    json: Json = False
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the results there as JSON, beside the screen's; with --compare-to the"
            " verdicts as Markdown (.md) or JUnit (.xml).",
        ),
    ] = None
    force: Force = False

    @property
    def baseline(self) -> "NamedBaseline | None":
        """The baseline of the run: the one named, or the first of a backend's two images."""
        return self.first_images or self.compare_to

    def require_baseline(self) -> None:
        """Refuse options of a comparison without one, and a second one."""
        if self.first_images:
            if self.compare_to is not None:
                raise UsageError(
                    f"--compare-to: --image names two images of {self.first_images[0].backend},"
                    " which are compared with each other",
                    hint="leave one of them out",
                )
        elif self.compare_to is None and (self.interleave or self.threshold is not None):
            option = "--interleave" if self.interleave else "--threshold"
            raise UsageError(
                f"{option}: no baseline is named",
                hint="`--compare-to last` takes the newest run that measured the same",
            )

    def require_sense(self) -> None:
        """Refuse options that do not go together, before anything is measured."""
        self.require_baseline()
        _ = self.purpose  # --verify-only and --no-verify exclude each other
        if self.output is not None:
            from orchestrator.system.files import require_free

            require_free("--output", self.output, force=self.force, database=self.database_file)

    def measure(self, request: "PlanRequest") -> int:
        """Run what was requested, or show its plan; returns the exit code."""
        from orchestrator.commands.measure.plan import PlanningNotes
        from orchestrator.commands.predict.host_forecast import find_forecast

        if self.on_fleet and self.baseline is not None:
            option = "--compare-to" if self.compare_to else "--image"
            raise typer.BadParameter(
                f"{option}: a fleet's runs are judged by `orchestrator regress` afterwards"
            )
        request = replace(request, command=command_line(), progress=PlanningNotes())
        _ = request.parsed  # a mistake in it is answered before all that runs is imported
        if not self.on_fleet:
            request = replace(request, find_forecast=find_forecast)
        if self.dry_run:
            self._show_plan(request)
            return 0
        if self.on_fleet:
            from orchestrator.commands.measure.fleet.progress import show_fleet_progress
            from orchestrator.commands.measure.fleet.runs import run_on_fleet

            with show_fleet_progress(quiet=chosen.quiet) as observer_of_hosts:
                runs = run_on_fleet(request, self, observer_of_hosts)
            return self.show_all(runs)
        from orchestrator.commands.program.progress import show_progress

        with show_progress(quiet=chosen.quiet) as observer:
            result = self._run(request, observer)
        return self.show(result)

    def _run(self, request: "PlanRequest", observer: "Observer") -> "RunResult":
        if self.baseline is None:
            from orchestrator.commands.measure.run import run_matrix

            return run_matrix(request, observer)
        from orchestrator.commands.measure.against import run_against

        return run_against(
            *(request, self.baseline, observer),
            interleave=self.interleave,
            threshold=self.threshold,
        )

    def _show_plan(self, request: "PlanRequest") -> None:
        if self.on_fleet:
            from orchestrator.commands.measure.fleet.plan import show_fleet_plan

            show_fleet_plan(request, self, as_json=self.json)
            return
        from orchestrator.commands.measure.plan import print_plan

        if self.baseline is not None and (self.interleave or self.first_images):
            from orchestrator.commands.measure.interleave import report_pairs

            report = report_pairs(request, self.baseline)
        else:
            from orchestrator.commands.measure.plan import report_plan

            report = report_plan(request)
        print_plan(report, as_json=self.json)

    def show(self, result: "RunResult") -> int:
        """Show a run that has ended; returns the exit code."""
        from orchestrator.screen.streams import after_work

        how: dict[str, Any] = {"as_json": self.json, "table": self, "quiet": chosen.quiet}
        with after_work():
            if result.verdicts is None:
                from orchestrator.commands.results.run_words import print_results

                print_results(result.report, **how)
            else:
                from orchestrator.commands.regress.output import print_compared

                print_compared(result.report, result.verdicts, **how)
        if self.output is not None:
            _save(result, self.output)
        result.outcome.require_complete()
        code = result.exit_code
        if code == 0:
            from orchestrator.commands.results.run_report import require_run_grade

            require_run_grade(result.report, self.require_grade)
        return code

    def show_all(self, result: "FleetResult") -> int:
        """Show every run before one that is not whole ends the command; returns the exit code."""
        if result.group_id is None:
            return self.show(result.runs[0])
        from orchestrator.commands.results.run_report import RunsReport, require_run_grade
        from orchestrator.commands.results.run_words import print_runs
        from orchestrator.screen.lines import print_note, save_json
        from orchestrator.screen.streams import after_work

        report = RunsReport(tuple(run.report for run in result.runs), result.group_id)
        with after_work():
            print_runs(report, as_json=self.json, table=self, quiet=chosen.quiet)
        if self.output is not None:
            save_json(report.data(), self.output)
        print_note(f"all of them: `orchestrator status {result.group_id}`")
        for run in result.runs:
            run.outcome.require_complete()
        code = next((run.exit_code for run in result.runs if run.exit_code), 0)
        if code == 0:
            for run in result.runs:
                require_run_grade(run.report, self.require_grade)
        return code


def _save(result: "RunResult", path: Path) -> None:
    from orchestrator.screen.lines import print_note, save_json

    of_verdicts = path.suffix.lower() in _OF_VERDICTS
    if result.verdicts is None and of_verdicts:
        print_note(f"{path}: nothing was judged, so it was not written")
    elif result.verdicts is None:
        save_json(result.report.data(), path)
    elif of_verdicts:
        from orchestrator.commands.regress.output import show_verdicts

        show_verdicts(result.verdicts, None, path)
    else:
        from orchestrator.commands.regress.output import compared_data

        save_json(compared_data(result.report, result.verdicts), path)
