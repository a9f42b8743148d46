"""`status`: content of the database, and stale results."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.options.common import DatabaseChoice
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_run
from orchestrator.commands.program.program import chosen
from orchestrator.commands.results.table_options import TableOptions
from orchestrator.system.options import Json


@dataclass(frozen=True, kw_only=True)
class StatusCommand(DatabaseChoice, TableOptions, Command):
    """Show what the database holds, or the verdicts of one run."""

    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN_ID|GROUP_ID|last",
            help="One run, or the runs of a group.  [default: the database]",
            show_default=False,
            autocompletion=complete_run,
        ),
    ] = None
    findings: Annotated[
        bool, typer.Option("--why", help="List what speaks against the run's numbers.")
    ] = False
    json: Json = False

    def execute(self) -> None:
        """Show the database or a run."""
        if self.run is None and not self.findings:
            from orchestrator.commands.results.status import current_installation, report_status
            from orchestrator.commands.results.status_words import print_status

            installation = current_installation()
            status = report_status(self.results, self.database_file, installation)
            print_status(status, as_json=self.json)
            return
        from orchestrator.commands.results.run_report import report_runs
        from orchestrator.commands.results.run_words import print_findings, print_runs

        report = report_runs(self.run or "last", self.database_file)
        if self.findings:
            print_findings(report, as_json=self.json)
        else:
            print_runs(report, as_json=self.json, table=self, quiet=chosen.quiet)
