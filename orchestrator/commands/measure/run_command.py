"""`run`: measures a matrix, or finishes an earlier run."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.fleet.fleet_options import with_fleet
from orchestrator.commands.measure.against_options import with_against
from orchestrator.commands.measure.prepare_command import (
    clear_artifacts,
    refuse_beside_exports,
    run_preparation,
)
from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import LauncherChoice, command_line
from orchestrator.commands.options.verdict import RequiredGrade, RequireGrade, required_grade
from orchestrator.commands.options.work import WorkOptions, with_work_options
from orchestrator.commands.program.completion import complete_run
from orchestrator.commands.program.program import chosen
from orchestrator.commands.program.refusals import refuse_without
from orchestrator.commands.results.table_options import with_table_options
from orchestrator.system.files import DATABASE_NAME, RESULTS_FOLDER

if TYPE_CHECKING:
    from orchestrator.commands.fleet.hosts import FleetChoice
    from orchestrator.commands.measure.against import Against
    from orchestrator.commands.measure.fleet_runs import FleetResult
    from orchestrator.commands.measure.plan import PlanReport
    from orchestrator.commands.measure.request import PlanRequest
    from orchestrator.commands.measure.run import ResumeRequest, RunResult
    from orchestrator.commands.regress.answer import RegressionAnswer
    from orchestrator.commands.results.result_table import ResultTable
    from orchestrator.running.observer import Observer

    _End = tuple[RunResult, RegressionAnswer | None]


_Resume = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="RUN_ID|last",
        help="Finish an earlier run.",
        autocompletion=complete_run,
    ),
]

_PrepareOnly = Annotated[
    bool,
    typer.Option("--prepare-only", help="Export every graph that the matrix needs, and stop."),
]
_Prune = Annotated[
    bool,
    typer.Option(
        "--prune",
        help="With --prepare-only: list graphs, references and counts of other versions, and past"
        " preparations.",
    ),
]
_Yes = Annotated[bool, typer.Option("--yes", help="Remove what --prune lists.")]

_OF_VERDICTS = (".md", ".markdown", ".xml")
"""Ends of the names of files that take verdicts alone, as Markdown or JUnit."""


@with_table_options
@with_against
@with_fleet
@with_work_options
def run(
    table: "ResultTable",
    against: "Against | None",
    fleet: "FleetChoice | None",
    work: WorkOptions,
    context: typer.Context,
    matrix: options.MatrixIfAny = None,
    select: options.Select = None,
    set_: options.Set = None,
    profile: options.Profile = None,
    sustained: options.Sustained = False,
    limit: options.Limit = None,
    launcher: options.LauncherOption = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    resume: _Resume = None,
    dry_run: options.DryRun = False,
    grade: RequireGrade = None,
    json: options.Json = False,
    output: options.JsonFile = None,
    force: options.Force = False,
    prepare_only: _PrepareOnly = False,
    prune: _Prune = False,
    yes: _Yes = False,
) -> int:
    """Measure the cells of a matrix, or finish an earlier run."""
    refuse_without(context, "--prepare-only", ("prune", "yes"))
    if prune or yes:
        return clear_artifacts(context, results, remove=yes, as_json=json)
    if prepare_only:
        refuse_beside_exports(context)
    from orchestrator.commands.measure.request import PlanRequest

    run_options = work.run_options(launcher, database)
    shown = MeasuredOutput(table, grade, output, as_json=json)
    shown.require(run_options.database or results / DATABASE_NAME, force=force)
    if resume is not None:
        from orchestrator.commands.measure.run import ResumeRequest

        shape = {"select": select, "set": set_, "profile": profile, "sustained": sustained}
        other = {"limit": limit, "dry_run": dry_run, "compare_to": against is not None}
        _refuse_beside_resume(**shape, **work.beside_resume, **other)
        resumed = ResumeRequest(resume, results, matrix, run_options)
        return _resume(resumed, shown) if fleet is None else finish_on_fleet(resumed, fleet, shown)
    request = PlanRequest(
        _require_matrix(matrix),
        overrides=options.overrides_of(set_, profile, sustained=sustained),
        select=tuple(select or ()),
        limit=limit,
        results=results,
        options=run_options,
    )
    if prepare_only:
        return run_preparation(request, as_json=json)
    if fleet is not None:
        refuse_baseline(against)
        return measure_on_fleet(request, fleet, shown, dry_run=dry_run)
    return measure(request, against, shown, dry_run=dry_run)


@dataclass(frozen=True)
class MeasuredOutput:
    """The outputs of a run's results: the screen, a file, an exit code."""

    table: "ResultTable"
    grade: RequiredGrade | None
    """The worst grade that passes."""
    path: Path | None
    """The file that takes them as JSON, or their verdicts as Markdown or JUnit; None for none."""
    as_json: bool
    """True if the screen shows data alone."""

    def require(self, database: Path, *, force: bool) -> None:
        """Refuse a file that cannot take them, before anything is measured.

        Raises:
            UsageError: it exists, or is a folder or the database.
        """
        if self.path is not None:
            from orchestrator.system.files import require_free

            require_free("--output", self.path, force=force, database=database)


def _require_matrix(matrix: Path | None) -> Path:
    if matrix is None:
        raise typer.BadParameter("name a matrix file, or an earlier run with --resume")
    return matrix


def refuse_baseline(against: "Against | None") -> None:
    """Refuse a comparison beside `--fleet`."""
    if against is not None:
        raise typer.BadParameter(
            "--compare-to: a fleet's runs are judged by `orchestrator regress` afterwards"
        )


def measure(
    request: "PlanRequest", against: "Against | None", shown: MeasuredOutput, *, dry_run: bool
) -> int:
    """Run what was requested, or show its plan; returns the exit code."""
    from orchestrator.commands.measure.plan_words import PlanningNotes
    from orchestrator.commands.predict.host_forecast import find_forecast

    request = replace(
        request,
        command=command_line(),
        progress=PlanningNotes(),
        find_forecast=find_forecast,
    )
    request.read()  # a mistake in it is answered before all that runs is imported
    if dry_run:
        from orchestrator.commands.measure.plan_words import print_plan

        print_plan(_planned(request, against), as_json=shown.as_json)
        return 0
    from orchestrator.commands.measure.progress import show_progress

    with show_progress(quiet=chosen.quiet) as observer:
        result, verdicts = _run(request, against, observer)
    return _show(result, verdicts, shown)


def _run(request: "PlanRequest", against: "Against | None", observer: "Observer") -> "_End":
    if against is None:
        from orchestrator.commands.measure.run import run_matrix

        return run_matrix(request, observer), None
    from orchestrator.commands.measure.against import run_against

    compared = run_against(request, against, observer)
    return compared, compared.verdicts


def _planned(request: "PlanRequest", against: "Against | None") -> "PlanReport":
    if against is not None and against.interleave:
        from orchestrator.commands.measure.interleave import report_pairs

        return report_pairs(request, against.baseline)
    from orchestrator.commands.measure.plan import report_plan

    return report_plan(request)


def _resume(request: "ResumeRequest", shown: MeasuredOutput) -> int:
    from orchestrator.commands.measure.progress import show_progress
    from orchestrator.commands.measure.run import resume_run

    with show_progress(quiet=chosen.quiet) as observer:
        result, verdicts = _finish(resume_run(request, observer), observer)
    return _show(result, verdicts, shown)


def measure_on_fleet(
    request: "PlanRequest", fleet: "FleetChoice", shown: MeasuredOutput, *, dry_run: bool
) -> int:
    """Run what was requested on a fleet, or show its plan there; returns the exit code."""
    from orchestrator.commands.measure.plan_words import PlanningNotes

    request = replace(request, command=command_line(), progress=PlanningNotes())
    request.read()
    if dry_run:
        from orchestrator.commands.measure.fleet_plan_table import show_fleet_plan

        show_fleet_plan(request, fleet, as_json=shown.as_json)
        return 0
    from orchestrator.commands.measure.fleet_runs import run_on_fleet
    from orchestrator.commands.measure.host_progress import show_fleet_progress

    with show_fleet_progress(quiet=chosen.quiet) as observer:
        result = run_on_fleet(request, fleet, observer)
    return _show_all(result, shown)


def finish_on_fleet(request: "ResumeRequest", fleet: "FleetChoice", shown: MeasuredOutput) -> int:
    """Finish a run, or the runs of a group, on a fleet; returns the exit code."""
    from orchestrator.commands.measure.fleet_runs import resume_on_fleet
    from orchestrator.commands.measure.host_progress import show_fleet_progress

    with show_fleet_progress(quiet=chosen.quiet) as observer:
        result = resume_on_fleet(request, fleet, observer)
    return _show_all(result, shown)


def _show_all(result: "FleetResult", shown: MeasuredOutput) -> int:
    """Show every run before one that is not whole ends the command."""
    if result.group_id is None:
        return _show(result.runs[0], None, shown)
    from orchestrator.commands.results.grades import require_run_grade
    from orchestrator.commands.results.run_report import RunsReport
    from orchestrator.commands.results.run_words import print_runs
    from orchestrator.screen.lines import print_note, save_json
    from orchestrator.screen.streams import after_work

    report = RunsReport(tuple(run.report for run in result.runs), result.group_id)
    with after_work():
        print_runs(report, as_json=shown.as_json, table=shown.table, quiet=chosen.quiet)
    if shown.path is not None:
        save_json(report.data(), shown.path)
    print_note(f"all of them: `orchestrator status {result.group_id}`")
    for run in result.runs:
        run.outcome.require_complete()
    code = next((run.exit_code for run in result.runs if run.exit_code), 0)
    if code == 0:
        for run in result.runs:
            require_run_grade(run.report, required_grade(shown.grade))
    return code


def _finish(result: "RunResult", observer: "Observer") -> "_End":
    if result.turns is None:
        return result, None
    from orchestrator.commands.measure.against import judge_pairs

    compared = judge_pairs(result, result.turns, observer)
    return compared, compared.verdicts


def _show(result: "RunResult", verdicts: "RegressionAnswer | None", shown: MeasuredOutput) -> int:
    from orchestrator.screen.streams import after_work

    how: dict[str, Any] = {"as_json": shown.as_json, "table": shown.table, "quiet": chosen.quiet}
    with after_work():
        if verdicts is None:
            from orchestrator.commands.results.run_words import print_results

            print_results(result.report, **how)
        else:
            from orchestrator.commands.regress.run import print_compared

            print_compared(result.report, verdicts, **how)
    if shown.path is not None:
        _save(result, verdicts, shown.path)
    result.outcome.require_complete()
    code = result.exit_code
    if code == 0:
        from orchestrator.commands.results.grades import require_run_grade

        require_run_grade(result.report, required_grade(shown.grade))
    return code


def _save(result: "RunResult", verdicts: "RegressionAnswer | None", path: Path) -> None:
    from orchestrator.screen.lines import print_note, save_json

    if path.suffix.lower() in _OF_VERDICTS:
        if verdicts is None:
            print_note(f"{path}: nothing was judged, so it was not written")
            return
        from orchestrator.commands.regress.output import RegressionOutput

        RegressionOutput(path=path).show(verdicts)
    elif verdicts is None:
        save_json(result.report.data(), path)
    else:
        from orchestrator.commands.regress.run import compared_data

        save_json(compared_data(result.report, verdicts), path)


def _refuse_beside_resume(**given: object) -> None:
    from runner.contract.errors import UsageError

    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if named:
        raise UsageError(
            f"--resume finishes what was planned, so {', '.join(named)} cannot change it",
            hint="leave them out, or start a new run without --resume",
        )
