"""`run --prepare-only`: exports the graphs of a matrix as `run` does, or clears away old ones."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.commands.options.common import command_line, note
from orchestrator.commands.program.program import chosen
from orchestrator.commands.program.refusals import refuse_all_but, refuse_without

if TYPE_CHECKING:
    from orchestrator.commands.measure.request import PlanRequest

_OF_EXPORTS = ("matrix", "select", "set_", "limit", "launcher", "results", "weights_seed", "json")


def refuse_beside_exports(context: typer.Context) -> None:
    """Refuse options that exports do not use."""
    refuse_all_but(context, "--prepare-only", _OF_EXPORTS)


def run_preparation(request: "PlanRequest", *, as_json: bool) -> int:
    """Export every graph that the matrix needs; returns the exit code."""
    from orchestrator.commands.measure.prepare import prepare_matrix
    from orchestrator.commands.measure.progress import show_progress
    from orchestrator.commands.measure.verify_words import print_prepared
    from orchestrator.screen.streams import after_work

    run_options = request.options.model_copy(update={"purpose": "prepare"})
    request = replace(request, options=run_options, command=command_line())
    with show_progress(quiet=chosen.quiet) as observer:
        preparation = prepare_matrix(request, observer)
    with after_work():
        print_prepared(preparation, as_json=as_json)
    return 1 if preparation.missing else 0


def clear_artifacts(context: typer.Context, results: Path, *, remove: bool, as_json: bool) -> int:
    """List what other versions left in the results folder, or remove it; returns the exit code."""
    refuse_without(context, "--prune", ("yes",))
    refuse_all_but(context, "--prune", ("prepare_only", "yes", "results", "json"))
    from orchestrator.commands.database.retention import find_stale_files, remove_stale_files
    from orchestrator.commands.database.table import print_stale_files

    files = remove_stale_files(results, note) if remove else find_stale_files(results)
    print_stale_files(files, removed=remove, as_json=as_json)
    return 0
