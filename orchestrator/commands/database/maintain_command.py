"""`maintain`: keeps database and record files small, and deletes old runs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options.common import DatabaseChoice
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_run
from orchestrator.system.options import Json, number_parser, seconds_parser
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.commands.database.retention import RetentionPolicy


@dataclass(frozen=True, kw_only=True)
class MaintainCommand(DatabaseChoice, Command):
    """Give back free space; drop old runs or compact their files."""

    compact: Annotated[
        bool,
        typer.Option(
            "--compact",
            help="Put the records of each finished run, and of imports, into one file.",
        ),
    ] = False
    drop_older_than: Annotated[
        float | None,
        typer.Option(
            "--drop-older-than",
            metavar="TIME",
            help="List runs that began longer ago, e.g. 90d.",
            parser=seconds_parser,
        ),
    ] = None
    keep_runs: Annotated[
        int | None,
        typer.Option(
            "--keep-runs",
            metavar="N",
            help="List all runs but the newest N.",
            parser=number_parser(0),
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--drop",
            metavar="RUN_ID",
            help="List this run or import. Repeatable.",
            autocompletion=complete_run,
        ),
    ] = None
    yes: Annotated[
        bool, typer.Option("--yes", help="Drop what is listed: rows, record files and folders.")
    ] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False
    json: Json = False

    def execute(self) -> None:
        """Maintain the database."""
        from orchestrator.commands.database.maintain import maintain_results
        from orchestrator.commands.database.retention import RetentionPolicy
        from orchestrator.commands.database.words import print_maintained

        policy = RetentionPolicy(self.drop_older_than, self.keep_runs, self.drop or ())
        self._require_sense(policy)
        report = maintain_results(
            self.results,
            self.database_file,
            policy,
            compacting=self.compact,
            dropping=self.yes,
            dry_run=self.dry_run,
        )
        print_maintained(report, as_json=self.json)

    def _require_sense(self, policy: "RetentionPolicy") -> None:
        if policy.older_than_s is not None and policy.keep is not None:
            raise UsageError(
                "--drop-older-than and --keep-runs choose differently", hint="give one of them"
            )
        if self.yes and not policy.deletes:
            raise UsageError(
                "--yes drops nothing by itself",
                hint="say what with --drop-older-than, --keep-runs or --drop",
            )
        if self.yes and self.dry_run:
            raise UsageError("--yes and --dry-run contradict each other", hint="give one of them")
