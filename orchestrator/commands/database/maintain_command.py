"""`maintain`: keeps database and record files small, and deletes old runs."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import database_in
from orchestrator.commands.program.completion import complete_run
from orchestrator.system.files import RESULTS_FOLDER

if TYPE_CHECKING:
    from orchestrator.commands.database.retention import RetentionPolicy


def maintain(
    compact: Annotated[
        bool,
        typer.Option(
            "--compact",
            help="Put the records of each finished run, and of imports, into one file.",
        ),
    ] = False,
    drop_older_than: Annotated[
        str | None,
        typer.Option(
            "--drop-older-than", metavar="TIME", help="List runs that began longer ago, e.g. 90d."
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
    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--drop",
            metavar="RUN_ID",
            help="List this run or import. Repeatable.",
            autocompletion=complete_run,
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Drop what is listed: rows, record files and folders.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Give back free space; drop old runs or compact their files."""
    from orchestrator.commands.database.maintain import maintain_results
    from orchestrator.commands.database.retention import RetentionPolicy
    from orchestrator.commands.database.words import print_maintained

    policy = RetentionPolicy(
        options.parse_seconds(drop_older_than, "--drop-older-than"), keep_runs, drop or ()
    )
    _require_sense(policy, yes=yes, dry_run=dry_run)
    report = maintain_results(
        results,
        database_in(results, database),
        policy,
        compacting=compact,
        dropping=yes,
        dry_run=dry_run,
    )
    print_maintained(report, as_json=json)


def _require_sense(policy: "RetentionPolicy", *, yes: bool, dry_run: bool) -> None:
    from runner.contract.errors import UsageError

    if policy.older_than_s is not None and policy.keep is not None:
        raise UsageError(
            "--drop-older-than and --keep-runs choose differently", hint="give one of them"
        )
    if yes and not policy.deletes:
        raise UsageError(
            "--yes drops nothing by itself",
            hint="say what with --drop-older-than, --keep-runs or --drop",
        )
    if yes and dry_run:
        raise UsageError("--yes and --dry-run contradict each other", hint="give one of them")
