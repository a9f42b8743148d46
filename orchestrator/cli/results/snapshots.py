"""`snapshot` and `restore`: copies of the database, and the way back to one."""

from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.options import database_in
from orchestrator.system.files import RESULTS_FOLDER

FOLDER = "snapshots"


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
    """Copy the database, with what identifies the copy, to compare with or go back to."""
    from orchestrator.render.maintain import print_snapshots, print_taken
    from orchestrator.store import snapshots, take
    from orchestrator.system.git import git_commit
    from runner.contract.errors import UsageError

    if list_ and name is not None:
        raise UsageError("--list shows them all", hint="leave out the name, or --list")
    if list_:
        print_snapshots(snapshots(results / FOLDER), as_json=json)
        return
    path = database_in(results, database)
    print_taken(take(path, results / FOLDER, name, git_commit()), as_json=json)


def restore(
    snapshot: Annotated[
        str,
        typer.Argument(metavar="NAME|last", help="A snapshot's name, or its folder's."),
    ],
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Let a snapshot take the database's place; what it replaces becomes a snapshot itself."""
    from orchestrator.render.maintain import print_restored
    from orchestrator.store import restore as go_back
    from orchestrator.system.git import git_commit

    path = database_in(results, database)
    print_restored(go_back(path, results / FOLDER, snapshot, git_commit()), path, as_json=json)
