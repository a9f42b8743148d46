"""`snapshot` and `restore`: copies of the database, and the way back to one."""

from typing import Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import database_in
from orchestrator.commands.program.completion import complete_snapshot
from orchestrator.system.files import RESULTS_FOLDER


def snapshot(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="What to call it, beside the time.", show_default=False
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the snapshots there are.")] = False,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Copy the database, to compare with or to go back to."""
    from orchestrator.commands.database.snapshots import report_snapshots, save_snapshot
    from orchestrator.commands.database.words import print_snapshot, print_snapshots
    from runner.contract.errors import UsageError

    if list_ and name is not None:
        raise UsageError("--list shows them all", hint="leave out the name, or --list")
    if list_:
        print_snapshots(report_snapshots(results), as_json=json)
        return
    print_snapshot(save_snapshot(results, database_in(results, database), name), as_json=json)


def restore(
    snapshot: Annotated[
        str,
        typer.Argument(
            metavar="NAME|last",
            help="A snapshot's name, or its folder's.",
            autocompletion=complete_snapshot,
        ),
    ],
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Put a snapshot in the database's place. The database becomes a snapshot itself."""
    from orchestrator.commands.database.snapshots import return_to_snapshot
    from orchestrator.commands.database.words import print_restored

    path = database_in(results, database)
    print_restored(return_to_snapshot(results, path, snapshot), as_json=json)
