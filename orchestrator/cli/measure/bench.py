"""`bench`: measures without a file."""

from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.measure.run import measure
from orchestrator.cli.options import LauncherChoice, command_line, list_option, with_options
from orchestrator.system.files import RESULTS_FOLDER
from runner.contract.axes import AXES

_Family = Annotated[list[str] | None, typer.Option(help="All models of a family.")]
_All = Annotated[bool, typer.Option("--all", help="All models of the catalogue.")]
_Profile = Annotated[str, typer.Option(help="quick, standard or audit.")]
_Iterations = Annotated[int | None, typer.Option(min=1, help="Fewest timed iterations of a cell.")]
_CellTimeout = Annotated[
    str | None, typer.Option(metavar="TIME", help="Longest a cell may take, e.g. 5m.")
]
_Memory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Most memory of a job, e.g. 8GiB.")
]


@with_options(0, list_option(AXES[0]))
@with_options(2, {name: hint for axis in AXES[1:] for name, hint in list_option(axis).items()})
def bench(
    family: _Family = None,
    all_: _All = False,
    profile: _Profile = "quick",
    iterations: _Iterations = None,
    cell_timeout: _CellTimeout = None,
    memory: _Memory = None,
    select: options.Select = None,
    limit: options.Limit = None,
    launcher: options.LauncherOption = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    seed: options.Seed = 0,
    verify_only: options.VerifyOnly = False,
    no_verify: options.NoVerify = False,
    trace: options.Trace = False,
    dry_run: options.DryRun = False,
    fail_fast: options.FailFast = False,
    budget: options.Budget = None,
    scratch: options.ScratchOfTests = False,
    json: options.Json = False,
    **axes: list[str] | None,
) -> int:
    """Measure without a file: the options are the matrix. Lists take commas or repeat."""
    from orchestrator.app.measure.plan import PlanRequest
    from orchestrator.matrix.from_options import BenchOptions
    from orchestrator.render.plan import PlanningNotes

    matrix = BenchOptions(
        axes={axis.name: axes[axis.parameter] or () for axis in AXES},
        families=family or (),
        every_model=all_,
        profile=profile,
        iterations=iterations,
        cell_timeout=cell_timeout,
        memory=memory,
    )
    request = PlanRequest(
        matrix,
        select=tuple(select or ()),
        limit=limit,
        results=results,
        progress=PlanningNotes(),
        options=options.run_options(
            launcher=launcher,
            database=database,
            seed=seed,
            scratch=scratch,
            verify_only=verify_only,
            no_verify=no_verify,
            trace=trace,
            fail_fast=fail_fast,
            budget=budget,
        ),
        command=command_line(),
    )
    return measure(request, dry_run=dry_run, as_json=json)
