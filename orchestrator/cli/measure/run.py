"""`run`: measures a matrix, or finishes an earlier run."""

from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.measure.measure import finish, measure
from orchestrator.cli.options import LauncherChoice, Request, command_line
from orchestrator.system.files import RESULTS_FOLDER


def run(
    context: typer.Context,
    matrix: options.MatrixFileIfAny = None,
    select: options.Select = None,
    set_: options.Set = None,
    limit: options.Limit = None,
    launcher: options.Launcher = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN_ID|last", help="Finish an earlier run.")
    ] = None,
    seed: options.Seed = 0,
    verify_only: options.VerifyOnly = False,
    no_verify: options.NoVerify = False,
    trace: options.TraceOrProfile = False,
    dry_run: options.DryRun = False,
    fail_fast: options.FailFast = False,
    budget: options.Budget = None,
    scratch: options.ScratchOfTests = False,
    json: options.Json = False,
) -> int:
    """Run every cell of a matrix and merge the records into the database."""
    from orchestrator.matrix import load_matrix
    from orchestrator.running.create import Origin

    request = Request.of(context)
    if resume is not None:
        _refuse_beside_resume(
            select=select,
            set=set_,
            limit=limit,
            seed=seed,
            verify_only=verify_only,
            no_verify=no_verify,
            trace=trace,
            dry_run=dry_run,
        )
        return finish(resume, matrix, request)
    if matrix is None:
        raise typer.BadParameter("name a matrix file, or an earlier run with --resume")
    loaded = load_matrix(matrix, set_ or [])
    return measure(loaded, Origin(matrix.read_text("utf-8"), matrix, command_line()), request)


def _refuse_beside_resume(**given: object) -> None:
    from runner.contract.errors import UsageError

    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if named:
        raise UsageError(
            f"--resume finishes what was planned, so {', '.join(named)} cannot change it",
            hint="leave them out, or start a new run without --resume",
        )
