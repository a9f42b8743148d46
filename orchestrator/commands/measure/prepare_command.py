"""`prepare`: exports the graphs of a matrix, as `run` does on its own; and clears away old ones."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import LauncherChoice, command_line, note
from orchestrator.commands.program.program import chosen
from orchestrator.system.files import RESULTS_FOLDER


def prepare(
    matrix: options.MatrixIfAny = None,
    select: options.Select = None,
    set_: options.Set = None,
    limit: options.Limit = None,
    launcher: options.LauncherOption = LauncherChoice.auto,
    results: options.Results = RESULTS_FOLDER,
    weights_seed: options.WeightsSeed = 0,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="List graphs, references and counts of other versions, and past preparations.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove what --prune lists.")] = False,
    json: options.Json = False,
) -> int:
    """Export every graph that a matrix needs, as `run` does."""
    if prune or yes:
        needed = {"matrix": matrix, "select": select, "set": set_, "limit": limit}
        _refuse_beside_prune(prune, **needed, weights_seed=weights_seed)
        return _clear(results, remove=yes, as_json=json)
    if matrix is None:
        raise typer.BadParameter("name a matrix file, or look for old graphs with --prune")
    from orchestrator.commands.measure.prepare import prepare_matrix
    from orchestrator.commands.measure.progress import show_progress
    from orchestrator.commands.measure.request import PlanRequest
    from orchestrator.commands.measure.verify_words import print_prepared
    from orchestrator.screen.streams import after_work

    run_options = options.run_options(launcher=launcher, database=None, weights_seed=weights_seed)
    request = PlanRequest(
        matrix,
        overrides=tuple(set_ or ()),
        select=tuple(select or ()),
        limit=limit,
        results=results,
        options=run_options.model_copy(update={"purpose": "prepare"}),
        command=command_line(),
    )
    with show_progress(quiet=chosen.quiet) as observer:
        preparation = prepare_matrix(request, observer)
    with after_work():
        print_prepared(preparation, as_json=json)
    return 1 if preparation.missing else 0


def _refuse_beside_prune(prune: bool, **given: object) -> None:
    from runner.contract.errors import UsageError

    if not prune:
        raise UsageError("--yes removes nothing by itself", hint="it belongs to --prune")
    if any(given.values()):
        raise UsageError(
            "--prune looks at all that lies in the results folder, whatever a matrix needs",
            hint="leave out the matrix and all that selects from it",
        )


def _clear(results: Path, *, remove: bool, as_json: bool) -> int:
    from orchestrator.commands.database.retention import find_stale_files, remove_stale_files
    from orchestrator.commands.database.table import print_stale_files

    files = remove_stale_files(results, note) if remove else find_stale_files(results)
    print_stale_files(files, removed=remove, as_json=as_json)
    return 0
