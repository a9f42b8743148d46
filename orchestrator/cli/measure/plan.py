"""`plan` and `schema`: what would run, and what a matrix may say."""

from enum import StrEnum
from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.options import LauncherChoice, database_in
from orchestrator.system.files import RESULTS_FOLDER


class PlanFormat(StrEnum):
    """How a plan is printed."""

    table = "table"
    json = "json"
    github = "github"


def plan(
    matrix: options.MatrixFile,
    format_: Annotated[
        PlanFormat,
        typer.Option("--format", help="github: what strategy.matrix takes by fromJSON."),
    ] = PlanFormat.table,
    select: options.Select = None,
    set_: options.Set = None,
    limit: options.Limit = None,
    resume: Annotated[
        str | None,
        typer.Option(metavar="RUN_ID|last", help="Show what this run has done already."),
    ] = None,
    launcher: options.Launcher = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    seed: options.Seed = 0,
) -> None:
    """Show every cell with its decision, the reason and an estimate of time."""
    import json

    from orchestrator.app.setup.github import github_matrix
    from orchestrator.backends.machine import Machine, this_machine
    from orchestrator.launchers.registry import preview_launcher
    from orchestrator.matrix import load_matrix
    from orchestrator.planning.plan import make_plan
    from orchestrator.render.lines import print_line
    from orchestrator.render.plan import print_plan
    from orchestrator.running.create import past_durations
    from orchestrator.running.folder import RunFolder
    from orchestrator.running.graphs import exports_left
    from runner.contract.selector import Selector

    elsewhere = format_ is PlanFormat.github
    made = make_plan(
        load_matrix(matrix, set_ or []),
        selector=Selector(select or ()),
        limit=limit,
        machine=Machine() if elsewhere else this_machine(),
        done=RunFolder.open(results, resume).verdicts() if resume else {},
        history=past_durations(database_in(results, database)),
    )
    if elsewhere:
        print_line(json.dumps(github_matrix(made)))
    else:
        as_json = format_ is PlanFormat.json
        exports = exports_left(made, results, preview_launcher(launcher), seed)
        print_plan(made, as_json=as_json, exports=exports)


def schema() -> None:
    """Print the JSON schema of the matrix file."""
    import json

    from orchestrator.matrix import matrix_json_schema
    from orchestrator.render.lines import print_line

    print_line(json.dumps(matrix_json_schema(), indent=2))
