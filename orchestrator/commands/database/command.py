"""`database`: checks, tidies, copies, restores and rebuilds the database."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.options.common import DatabaseChoice, ScratchOption
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_run, complete_snapshot
from orchestrator.commands.program.program import Program
from orchestrator.system.options import Json, number_parser, seconds_parser
from runner.contract.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class CheckDatabase(DatabaseChoice, Command):
    """Check the database for impossible and contradictory values."""

    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Mend what can be derived, put the rest into quarantine; a copy stays."
        ),
    ] = False
    json: Json = False

    def execute(self) -> int:
        from orchestrator.commands.database.table import print_validation
        from orchestrator.screen.words.records import record_words
        from orchestrator.store.health.fix import fix_database, validate_database

        path = self.database_file
        if self.fix:
            validation = fix_database(path, self.results, words=record_words)
        else:
            validation = validate_database(path)
        print_validation(validation, path, as_json=self.json)
        return 1 if validation.errors else 0


@dataclass(frozen=True, kw_only=True)
class VacuumDatabase(DatabaseChoice, Command):
    """Empty the database's log and give back its free space."""

    json: Json = False

    def execute(self) -> None:
        from orchestrator.commands.database.maintain import maintain_results
        from orchestrator.commands.database.table import print_maintained

        print_maintained(maintain_results(self.results, self.database_file), as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class CompactRecords(DatabaseChoice, Command):
    """Put the records of each finished run, and of imports, into one file."""

    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False
    json: Json = False

    def execute(self) -> None:
        from orchestrator.commands.database.maintain import maintain_results
        from orchestrator.commands.database.table import print_maintained

        report = maintain_results(
            self.results, self.database_file, compacting=True, dry_run=self.dry_run
        )
        print_maintained(report, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class DropRuns(DatabaseChoice, Command):
    """List runs to drop; with --yes, drop them."""

    run_ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN_ID…]",
            help="Runs or imports to list.",
            autocompletion=complete_run,
            show_default=False,
        ),
    ] = None
    older_than: Annotated[
        float | None,
        typer.Option(
            metavar="TIME", help="List runs that began longer ago, e.g. 90d.", parser=seconds_parser
        ),
    ] = None
    keep_runs: Annotated[
        int | None,
        typer.Option(metavar="N", help="List all runs but the newest N.", parser=number_parser(0)),
    ] = None
    yes: Annotated[
        bool, typer.Option("--yes", help="Drop what is listed: rows, record files and folders.")
    ] = False
    json: Json = False

    def execute(self) -> None:
        from orchestrator.commands.database.maintain import maintain_results
        from orchestrator.commands.database.retention import RetentionPolicy
        from orchestrator.commands.database.table import print_maintained

        if self.older_than is not None and self.keep_runs is not None:
            message = "--older-than and --keep-runs choose differently"
            raise UsageError(message, hint="give one of them")
        policy = RetentionPolicy(self.older_than, self.keep_runs, self.run_ids or ())
        if not policy.deletes:
            raise UsageError(
                "nothing says what to drop", hint="name runs, or give --older-than or --keep-runs"
            )
        report = maintain_results(self.results, self.database_file, policy, dry_run=not self.yes)
        print_maintained(report, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class SnapshotDatabase(DatabaseChoice, Command):
    """Copy the database, to compare with or to go back to."""

    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="What to call it, beside the time.", show_default=False
        ),
    ] = None
    list_: Annotated[bool, typer.Option("--list", help="List the snapshots there are.")] = False
    json: Json = False

    def execute(self) -> None:
        from orchestrator.commands.database.table import print_snapshot, print_snapshots
        from orchestrator.store.health.snapshots import list_snapshots, take_snapshot
        from orchestrator.system.files import SNAPSHOTS_FOLDER
        from orchestrator.system.git import own_commit

        root = self.results / SNAPSHOTS_FOLDER
        if self.list_ and self.name is not None:
            raise UsageError("--list shows them all", hint="leave out the name, or --list")
        if self.list_:
            print_snapshots(list_snapshots(root), as_json=self.json)
            return
        taken = take_snapshot(self.database_file, root, self.name, own_commit())
        print_snapshot(taken, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class RestoreSnapshot(DatabaseChoice, Command):
    """Put a snapshot in the database's place. The database becomes a snapshot itself."""

    snapshot: Annotated[
        str,
        typer.Argument(
            metavar="NAME|last",
            help="A snapshot's name, or its folder's.",
            autocompletion=complete_snapshot,
        ),
    ]
    json: Json = False

    def execute(self) -> None:
        from orchestrator.commands.database.rebuild import restore_database
        from orchestrator.commands.database.table import print_restored

        path = self.database_file
        restored = restore_database(self.results, path, self.snapshot)
        print_restored(restored, path, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class RebuildDatabase(DatabaseChoice, Command):
    """Make the database anew from the record files of its runs, imports and merges."""

    scratch: ScratchOption = False
    json: Json = False

    def execute(self) -> None:
        from orchestrator.commands.database.rebuild import rebuild_database
        from orchestrator.commands.database.table import print_rebuilt

        path = self.database_file
        rebuilt = rebuild_database(self.results, path, scratch=self.scratch)
        print_rebuilt(rebuilt, path, as_json=self.json)
        rebuilt.sound.require_complete()


group = Program(help="Check, tidy, copy, restore and rebuild the database.")
group.command(name="check")(CheckDatabase)
group.command(name="vacuum")(VacuumDatabase)
group.command(name="compact")(CompactRecords)
group.command(name="drop")(DropRuns)
group.command(name="snapshot")(SnapshotDatabase)
group.command(name="restore")(RestoreSnapshot)
group.command(name="rebuild")(RebuildDatabase)
