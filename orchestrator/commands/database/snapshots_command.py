"""`snapshot` and `restore`: copies of the database, and the way back to one."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.options.common import DatabaseChoice
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_snapshot
from orchestrator.system.options import Json
from runner.contract.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class SnapshotCommand(DatabaseChoice, Command):
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
        """Copy, or list copies."""
        from orchestrator.commands.database.snapshots import report_snapshots, save_snapshot
        from orchestrator.commands.database.words import print_snapshot, print_snapshots

        if self.list_ and self.name is not None:
            raise UsageError("--list shows them all", hint="leave out the name, or --list")
        if self.list_:
            print_snapshots(report_snapshots(self.results), as_json=self.json)
            return
        saved = save_snapshot(self.results, self.database_file, self.name)
        print_snapshot(saved, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class RestoreCommand(DatabaseChoice, Command):
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
        """Put the snapshot in its place."""
        from orchestrator.commands.database.snapshots import return_to_snapshot
        from orchestrator.commands.database.words import print_restored

        restored = return_to_snapshot(self.results, self.database_file, self.snapshot)
        print_restored(restored, as_json=self.json)
