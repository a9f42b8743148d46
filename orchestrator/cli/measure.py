"""`run` and `bench`: the commands that measure."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.app import chosen
from orchestrator.cli.options import LauncherChoice, database_in
from orchestrator.defaults import RESULTS

if TYPE_CHECKING:
    from orchestrator.begin import Origin
    from orchestrator.devices import LauncherName
    from orchestrator.matrix import Matrix
    from orchestrator.run_folder import RunFolder


@dataclass(frozen=True)
class Request:
    """What `run` and `bench` have in common."""

    select: list[str] | None
    limit: int | None
    launcher: LauncherChoice
    results: Path
    database: Path | None
    seed: int
    dry_run: bool
    fail_fast: bool
    budget_s: float | None
    scratch: bool
    json: bool


def run(
    matrix: Annotated[
        Path | None, typer.Argument(metavar="MATRIX", help="The matrix file.", show_default=False)
    ] = None,
    select: options.Select = None,
    set_: options.Set = None,
    limit: options.Limit = None,
    launcher: options.Launcher = LauncherChoice.auto,
    results: options.Results = RESULTS,
    database: options.Database = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN_ID|last", help="Finish an earlier run.")
    ] = None,
    seed: options.Seed = 0,
    dry_run: options.DryRun = False,
    fail_fast: options.FailFast = False,
    budget: options.Budget = None,
    scratch: options.Scratch = False,
    json: options.Json = False,
) -> int:
    """Run every cell of a matrix and merge the records into the database."""
    from orchestrator.begin import Origin
    from orchestrator.matrix import load_matrix

    request = Request(
        select=select,
        limit=limit,
        launcher=launcher,
        results=results,
        database=database,
        seed=seed,
        dry_run=dry_run,
        fail_fast=fail_fast,
        budget_s=_budget_s(budget),
        scratch=scratch,
        json=json,
    )
    if resume is not None:
        _refuse_beside_resume(select=select, set=set_, limit=limit, seed=seed, dry_run=dry_run)
        return _finish(resume, matrix, request)
    if matrix is None:
        raise typer.BadParameter("name a matrix file, or an earlier run with --resume")
    loaded = load_matrix(matrix, set_ or [])
    return _measure(loaded, Origin(matrix.read_text("utf-8"), matrix, _command_line()), request)


def bench(
    model: Annotated[
        list[str] | None, typer.Option(help="Models, sets or files of custom models.")
    ] = None,
    family: Annotated[list[str] | None, typer.Option(help="All models of a family.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All models of the catalogue.")] = False,
    backend: Annotated[
        list[str] | None, typer.Option(help="Hardware paths.  [default: cpu]")
    ] = None,
    runtime: Annotated[
        list[str] | None, typer.Option(help="Runtimes.  [default: the backend's own]")
    ] = None,
    precision: Annotated[
        list[str] | None, typer.Option(help="Number formats.  [default: fp32]")
    ] = None,
    batch_sizes: Annotated[
        list[str] | None, typer.Option(help="Samples in a query, e.g. 1,2,4.  [default: 1]")
    ] = None,
    sequence_lengths: Annotated[
        list[str] | None, typer.Option(help="Tokens in a sample, e.g. 128,256.  [default: 128]")
    ] = None,
    mode: Annotated[
        list[str] | None, typer.Option(help="What is measured.  [default: inference]")
    ] = None,
    profile: Annotated[str, typer.Option(help="quick, standard or audit.")] = "quick",
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Fewest timed iterations of a cell.")
    ] = None,
    cell_timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Longest a cell may take, e.g. 5m.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Most memory of a job, e.g. 8GiB.")
    ] = None,
    select: options.Select = None,
    limit: options.Limit = None,
    launcher: options.Launcher = LauncherChoice.auto,
    results: options.Results = RESULTS,
    database: options.Database = None,
    seed: options.Seed = 0,
    dry_run: options.DryRun = False,
    fail_fast: options.FailFast = False,
    budget: options.Budget = None,
    scratch: options.Scratch = False,
    json: options.Json = False,
) -> int:
    """Measure without a file: the options are the matrix. Lists take commas or repeat."""
    from orchestrator.begin import Origin
    from orchestrator.bench_matrix import BenchOptions, bench_matrix

    asked = BenchOptions(
        models=model or (),
        families=family or (),
        every_model=all_,
        backends=backend or (),
        runtimes=runtime or (),
        precisions=precision or (),
        batch_sizes=batch_sizes or (),
        sequence_lengths=sequence_lengths or (),
        modes=mode or (),
        profile=profile,
        iterations=iterations,
        cell_timeout=cell_timeout,
        memory=memory,
    )
    request = Request(
        select=select,
        limit=limit,
        launcher=launcher,
        results=results,
        database=database,
        seed=seed,
        dry_run=dry_run,
        fail_fast=fail_fast,
        budget_s=_budget_s(budget),
        scratch=scratch,
        json=json,
    )
    return _measure(bench_matrix(asked), Origin(command=_command_line()), request)


def _budget_s(text: str | None) -> float | None:
    from orchestrator.units import parse_duration

    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--budget") from error


def _refuse_beside_resume(**given: object) -> None:
    from orchestrator.errors import MatrixError

    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if named:
        raise MatrixError(
            f"--resume finishes what was planned, so {', '.join(named)} cannot change it",
            hint="leave them out, or start a new run without --resume",
        )


def _measure(matrix: "Matrix", origin: "Origin", request: Request) -> int:
    from orchestrator.begin import Terms, begin, past_durations
    from orchestrator.launchers.choose import choose_launcher
    from orchestrator.plan import make_plan
    from orchestrator.render.plan import print_plan
    from orchestrator.selector import Selector

    plan = make_plan(
        matrix,
        selector=Selector(request.select or ()),
        limit=request.limit,
        history=past_durations(database_in(request.results, request.database)),
    )
    if request.dry_run:
        print_plan(plan, as_json=request.json)
        return 0
    for text in plan.notes:
        _note(text)
    launcher = choose_launcher(request.launcher, _note)
    terms = Terms(launcher, request.database, request.seed, request.scratch)
    return _execute(begin(plan, origin, request.results, terms), launcher, request)


def _finish(run_id: str, matrix: Path | None, request: Request) -> int:
    from orchestrator.begin import Origin, resume
    from orchestrator.launchers.choose import choose_launcher
    from orchestrator.matrix import load_matrix

    origin = Origin()
    if matrix is not None:
        load_matrix(matrix)
        origin = Origin(matrix.read_text("utf-8"), matrix)
    folder = resume(request.results, run_id, origin, request.database)
    earlier = folder.run.launcher
    asked = earlier if request.launcher == LauncherChoice.auto else request.launcher
    return _execute(folder, choose_launcher(asked, _note), request)


def _execute(folder: "RunFolder", launcher: "LauncherName", request: Request) -> int:
    from orchestrator.launchers.choose import make_launcher
    from orchestrator.render.progress import show_progress
    from orchestrator.render.results import print_results
    from orchestrator.run import RETRIED, RunExecution, Settings
    from orchestrator.store import Store

    database = request.database or folder.database
    settings = Settings(
        database=database,
        fail_fast=request.fail_fast,
        budget_s=request.budget_s,
    )
    left = set(folder.left(RETRIED))
    estimates = {
        entry.cell.id: entry.estimate_s for entry in folder.run.plan.entries if entry.cell in left
    }
    try:
        with show_progress(estimates, quiet=chosen.quiet) as observer:
            made = make_launcher(launcher, observer.note, folder.run.git_commit)
            outcome = RunExecution(folder, made, observer, settings).run()
    except KeyboardInterrupt:
        count = len(folder.left(RETRIED))
        _note(f"run {folder.run.run_id} was interrupted with {count} cells left")
        _note("`orchestrator run --resume last` finishes it")
        raise
    with Store.open_readonly(database) as store:
        rows = store.results(folder.run.run_id)
    print_results(rows, folder.run.run_id, database, as_json=request.json)
    outcome.merged.require_complete()
    return outcome.exit_code


def _command_line() -> str:
    return shlex.join(["orchestrator", *sys.argv[1:]])


def _note(text: str) -> None:
    if not chosen.quiet:
        typer.echo(text, err=True)
