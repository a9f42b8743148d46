"""`run`: measures a matrix, or finishes an earlier run."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.against_options import with_against
from orchestrator.cli.app import chosen
from orchestrator.cli.completion import complete_run
from orchestrator.cli.options import LauncherChoice, command_line
from orchestrator.cli.table_options import with_table_options
from orchestrator.cli.verdict_options import RequiredGrade, RequireGrade, required_grade
from orchestrator.system.files import RESULTS_FOLDER

if TYPE_CHECKING:
    from orchestrator.app.measure.plan import PlanReport
    from orchestrator.app.measure.request import PlanRequest
    from orchestrator.app.measure.run import RunResult
    from orchestrator.app.results.against import Against
    from orchestrator.app.results.regressing import RegressionAnswer
    from orchestrator.render.results.result_table import ResultTable
    from orchestrator.running.observer import Observer
    from orchestrator.running.options import RunOptions

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


@with_table_options
@with_against
def run(
    table: "ResultTable",
    against: "Against | None",
    matrix: options.MatrixIfAny = None,
    select: options.Select = None,
    set_: options.Set = None,
    profile: options.Profile = None,
    limit: options.Limit = None,
    launcher: options.LauncherOption = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    resume: _Resume = None,
    seed: options.Seed = None,
    weights_seed: options.WeightsSeed = 0,
    verify_only: options.VerifyOnly = False,
    no_verify: options.NoVerify = False,
    trace: options.Trace = False,
    inherit_environ: options.InheritEnviron = None,
    image: options.Image = None,
    label: options.Label = None,
    dry_run: options.DryRun = False,
    fail_fast: options.FailFast = False,
    budget: options.Budget = None,
    grade: RequireGrade = None,
    scratch: options.ScratchOfTests = False,
    json: options.Json = False,
) -> int:
    """Measure the cells of a matrix, or finish an earlier run."""
    from orchestrator.app.measure.request import PlanRequest

    run_options = options.run_options(
        launcher=launcher,
        database=database,
        seed=seed,
        weights_seed=weights_seed,
        scratch=scratch,
        verify_only=verify_only,
        no_verify=no_verify,
        trace=trace,
        inherit_environ=inherit_environ,
        image=image,
        label=label,
        fail_fast=fail_fast,
        budget=budget,
    )
    if resume is not None:
        shape = {"select": select, "set": set_, "profile": profile, "limit": limit}
        seeds = {"seed": seed is not None, "weights_seed": weights_seed}
        work = {"verify_only": verify_only, "no_verify": no_verify, "trace": trace}
        variables = {"inherit_environ": inherit_environ, "image": image, "label": label}
        other = {"dry_run": dry_run, "compare_to": against is not None}
        _refuse_beside_resume(**shape, **seeds, **work, **variables, **other)
        return _resume(resume, results, matrix, run_options, table, grade, as_json=json)
    request = PlanRequest(
        _require_matrix(matrix),
        overrides=options.overrides_of(set_, profile),
        select=tuple(select or ()),
        limit=limit,
        results=results,
        options=run_options,
    )
    return measure(request, table, against, grade, dry_run=dry_run, as_json=json)


def _require_matrix(matrix: Path | None) -> Path:
    if matrix is None:
        raise typer.BadParameter("name a matrix file, or an earlier run with --resume")
    return matrix


def measure(
    request: "PlanRequest",
    table: "ResultTable",
    against: "Against | None" = None,
    grade: RequiredGrade | None = None,
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run what was requested, or show its plan; returns the exit code."""
    from orchestrator.app.predictions.host.forecast import find_forecast
    from orchestrator.render.measure.plan import PlanningNotes

    request = replace(
        request,
        command=command_line(),
        progress=PlanningNotes(),
        find_forecast=find_forecast,
    )
    request.read()  # a mistake in it is answered before all that runs is imported
    if dry_run:
        from orchestrator.render.measure.plan import print_plan

        print_plan(_planned(request, against), as_json=as_json)
        return 0
    from orchestrator.render.measure.progress import show_progress

    with show_progress(quiet=chosen.quiet) as observer:
        result, verdicts = _run(request, against, observer)
    return _show(result, verdicts, table, grade, as_json=as_json)


def _run(request: "PlanRequest", against: "Against | None", observer: "Observer") -> "_End":
    if against is None:
        from orchestrator.app.measure.run import run_matrix

        return run_matrix(request, observer), None
    from orchestrator.app.results.against import run_against

    compared = run_against(request, against, observer)
    return compared, compared.verdicts


def _planned(request: "PlanRequest", against: "Against | None") -> "PlanReport":
    if against is not None and against.interleave:
        from orchestrator.app.measure.interleave import report_pairs

        return report_pairs(request, against.baseline)
    from orchestrator.app.measure.plan import report_plan

    return report_plan(request)


def _resume(
    run_id: str,
    results: Path,
    matrix: Path | None,
    run_options: "RunOptions",
    table: "ResultTable",
    grade: RequiredGrade | None,
    *,
    as_json: bool,
) -> int:
    from orchestrator.app.measure.run import ResumeRequest, resume_run
    from orchestrator.render.measure.progress import show_progress

    request = ResumeRequest(run_id, results, matrix, run_options)
    with show_progress(quiet=chosen.quiet) as observer:
        result, verdicts = _finish(resume_run(request, observer), observer)
    return _show(result, verdicts, table, grade, as_json=as_json)


def _finish(result: "RunResult", observer: "Observer") -> "_End":
    if result.turns is None:
        return result, None
    from orchestrator.app.results.against import judge_pairs

    compared = judge_pairs(result, result.turns, observer)
    return compared, compared.verdicts


def _show(
    result: "RunResult",
    verdicts: "RegressionAnswer | None",
    table: "ResultTable",
    grade: RequiredGrade | None,
    *,
    as_json: bool,
) -> int:
    from orchestrator.render.terminal.streams import after_work

    with after_work():
        if verdicts is None:
            from orchestrator.render.results.run import print_results

            print_results(result.report, as_json=as_json, table=table, quiet=chosen.quiet)
        else:
            from orchestrator.render.regressions.run import print_compared

            print_compared(
                *(result.report, verdicts), as_json=as_json, table=table, quiet=chosen.quiet
            )
    result.outcome.require_complete()
    code = result.exit_code
    if code == 0:
        from orchestrator.app.results.grades import require_run_grade

        require_run_grade(result.report, required_grade(grade))
    return code


def _refuse_beside_resume(**given: object) -> None:
    from runner.contract.errors import UsageError

    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if named:
        raise UsageError(
            f"--resume finishes what was planned, so {', '.join(named)} cannot change it",
            hint="leave them out, or start a new run without --resume",
        )
