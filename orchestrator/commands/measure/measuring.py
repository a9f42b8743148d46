"""The common part of `run` and `bench`: options, measurement and output."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.measure.comparison import Against
from orchestrator.commands.options.common import DatabaseChoice, DryRun, command_line
from orchestrator.commands.options.verdict import RequireGrade
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.program import chosen
from orchestrator.commands.results.result_table import TableOptions
from orchestrator.fleet.choice import FleetChoice
from orchestrator.running.options import RunOptions
from orchestrator.system.options import Force, Json

if TYPE_CHECKING:
    from orchestrator.commands.measure.fleet.runs import FleetResult
    from orchestrator.commands.measure.plan import PlanReport
    from orchestrator.commands.measure.request import PlanRequest
    from orchestrator.commands.measure.run import RunResult
    from orchestrator.commands.regress.answer import RegressionAnswer
    from orchestrator.running.observer import Observer

    _End = tuple[RunResult, RegressionAnswer | None]

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
            "--output",
            metavar="FILE",
            help="Write the results there as JSON, beside the screen's; with --compare-to the"
            " verdicts as Markdown (.md) or JUnit (.xml).",
        ),
    ] = None
    force: Force = False

    def require_sense(self) -> None:
        """Refuse options that do not go together, before anything is measured."""
        self.require_baseline()
        _ = self.purpose  # --verify-only and --no-verify exclude each other
        if self.output is not None:
            from orchestrator.system.files import require_free

            database = self.database_file
            require_free("--output", self.output, force=self.force, database=database)

    def measure(self, request: "PlanRequest") -> int:
        """Run what was requested, or show its plan; returns the exit code."""
        from orchestrator.commands.measure.plan_words import PlanningNotes
        from orchestrator.commands.predict.host_forecast import find_forecast

        if self.on_fleet and self.compare_to is not None:
            raise typer.BadParameter(
                "--compare-to: a fleet's runs are judged by `orchestrator regress` afterwards"
            )
        request = replace(request, command=command_line(), progress=PlanningNotes())
        request.read()  # a mistake in it is answered before all that runs is imported
        if self.on_fleet:
            return self._measure_on_fleet(request)
        request = replace(request, find_forecast=find_forecast)
        if self.dry_run:
            from orchestrator.commands.measure.plan_words import print_plan

            print_plan(self._planned(request), as_json=self.json)
            return 0
        from orchestrator.commands.measure.progress import show_progress

        with show_progress(quiet=chosen.quiet) as observer:
            result, verdicts = self._run(request, observer)
        return self.show(result, verdicts)

    def _run(self, request: "PlanRequest", observer: "Observer") -> "_End":
        if self.compare_to is None:
            from orchestrator.commands.measure.run import run_matrix

            return run_matrix(request, observer), None
        from orchestrator.commands.measure.against import run_against

        compared = run_against(request, self.compare_to, self, observer)
        return compared, compared.verdicts

    def _planned(self, request: "PlanRequest") -> "PlanReport":
        if self.compare_to is not None and self.interleave:
            from orchestrator.commands.measure.interleave import report_pairs

            return report_pairs(request, self.compare_to)
        from orchestrator.commands.measure.plan import report_plan

        return report_plan(request)

    def _measure_on_fleet(self, request: "PlanRequest") -> int:
        if self.dry_run:
            from orchestrator.commands.measure.fleet.plan_table import show_fleet_plan

            show_fleet_plan(request, self, as_json=self.json)
            return 0
        from orchestrator.commands.measure.fleet.progress import show_fleet_progress
        from orchestrator.commands.measure.fleet.runs import run_on_fleet

        with show_fleet_progress(quiet=chosen.quiet) as observer:
            result = run_on_fleet(request, self, observer)
        return self.show_all(result)

    def show(self, result: "RunResult", verdicts: "RegressionAnswer | None" = None) -> int:
        """Show a run that has ended; returns the exit code."""
        from orchestrator.screen.streams import after_work

        how: dict[str, Any] = {"as_json": self.json, "table": self, "quiet": chosen.quiet}
        with after_work():
            if verdicts is None:
                from orchestrator.commands.results.run_words import print_results

                print_results(result.report, **how)
            else:
                from orchestrator.commands.regress.output import print_compared

                print_compared(result.report, verdicts, **how)
        if self.output is not None:
            _save(result, verdicts, self.output)
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


def _save(result: "RunResult", verdicts: "RegressionAnswer | None", path: Path) -> None:
    from orchestrator.screen.lines import print_note, save_json

    if path.suffix.lower() in _OF_VERDICTS:
        if verdicts is None:
            print_note(f"{path}: nothing was judged, so it was not written")
            return
        from orchestrator.commands.regress.output import show_verdicts

        show_verdicts(verdicts, None, path)
    elif verdicts is None:
        save_json(result.report.data(), path)
    else:
        from orchestrator.commands.regress.output import compared_data

        save_json(compared_data(result.report, verdicts), path)
