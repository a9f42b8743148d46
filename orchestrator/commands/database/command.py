"""`database`: checks, tidies, copies, restores and rebuilds the database."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import database_in
from orchestrator.commands.program.completion import complete_run, complete_snapshot
from orchestrator.commands.program.program import Program
from orchestrator.system.files import RESULTS_FOLDER

if TYPE_CHECKING:
    from orchestrator.commands.database.retention import RetentionPolicy

group = Program(help="Check, tidy, copy, restore and rebuild the database.")


@group.command()
def check(
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Mend what can be derived, put the rest into quarantine; a copy stays."
        ),
    ] = False,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> int:
    """Check the database for impossible and contradictory values."""
    from orchestrator.commands.database.table import print_validation
    from orchestrator.store import fix_database, validate_database

    path = database_in(results, database)
    validation = fix_database(path, results) if fix else validate_database(path)
    print_validation(validation, path, as_json=json)
    return 1 if validation.errors else 0


@group.command(name="vacuum")
def vacuum_database(
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Empty the database's log and give back its free space."""
    from orchestrator.commands.database.maintain import maintain_results
    from orchestrator.commands.database.table import print_maintained

    print_maintained(maintain_results(results, database_in(results, database)), as_json=json)


@group.command(name="compact")
def compact_records(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Put the records of each finished run, and of imports, into one file."""
    from orchestrator.commands.database.maintain import maintain_results
    from orchestrator.commands.database.table import print_maintained

    path = database_in(results, database)
    report = maintain_results(results, path, compacting=True, dry_run=dry_run)
    print_maintained(report, as_json=json)


@group.command()
def drop(
    run_ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN_ID…]",
            help="Runs or imports to list.",
            autocompletion=complete_run,
            show_default=False,
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than", metavar="TIME", help="List runs that began longer ago, e.g. 90d."
        ),
    ] = None,
    keep_runs: Annotated[
        int | None,
        typer.Option(
            "--keep-runs",
            metavar="N",
            help="List all runs but the newest N.",
            callback=options.require_none_below_zero,
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Drop what is listed: rows, record files and folders.")
    ] = False,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """List runs to drop; with --yes, drop them."""
    from orchestrator.commands.database.maintain import maintain_results
    from orchestrator.commands.database.retention import RetentionPolicy
    from orchestrator.commands.database.table import print_maintained

    policy = RetentionPolicy(
        options.parse_seconds(older_than, "--older-than"), keep_runs, run_ids or ()
    )
    _require_sense(policy)
    path = database_in(results, database)
    print_maintained(maintain_results(results, path, policy, dry_run=not yes), as_json=json)


def _require_sense(policy: "RetentionPolicy") -> None:
    from runner.contract.errors import UsageError

    if policy.older_than_s is not None and policy.keep is not None:
        raise UsageError("--older-than and --keep-runs choose differently", hint="give one of them")
    if not policy.deletes:
        raise UsageError(
            "nothing says what to drop", hint="name runs, or give --older-than or --keep-runs"
        )


@group.command()
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
    from orchestrator.commands.database.table import print_snapshot, print_snapshots
    from orchestrator.store import list_snapshots, take_snapshot
    from orchestrator.system.files import SNAPSHOTS_FOLDER
    from orchestrator.system.git import own_commit
    from runner.contract.errors import UsageError

    root = results / SNAPSHOTS_FOLDER
    if list_ and name is not None:
        raise UsageError("--list shows them all", hint="leave out the name, or --list")
    if list_:
        print_snapshots(list_snapshots(root), as_json=json)
        return
    taken = take_snapshot(database_in(results, database), root, name, own_commit())
    print_snapshot(taken, as_json=json)


@group.command()
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
    from orchestrator.commands.database.rebuild import restore_database
    from orchestrator.commands.database.table import print_restored

    path = database_in(results, database)
    print_restored(restore_database(results, path, snapshot), path, as_json=json)


@group.command()
def rebuild(
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    scratch: options.Scratch = False,
    json: options.Json = False,
) -> None:
    """Make the database anew from the record files of its runs, imports and merges."""
    from orchestrator.commands.database.rebuild import rebuild_database
    from orchestrator.commands.database.table import print_rebuilt

    path = database_in(results, database)
    rebuilt = rebuild_database(results, path, scratch=scratch)
    print_rebuilt(rebuilt, path, as_json=json)
    rebuilt.sound.require_complete()
