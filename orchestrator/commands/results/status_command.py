"""`status`: content of the database, and stale results."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import database_in
from orchestrator.commands.program.completion import complete_run
from orchestrator.commands.program.program import chosen
from orchestrator.commands.results.table_options import with_table_options
from orchestrator.system.files import RESULTS_FOLDER

if TYPE_CHECKING:
    from orchestrator.commands.results.result_table import ResultTable


@with_table_options
def status(
    table: "ResultTable",
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN_ID|GROUP_ID|last",
            help="One run, or the runs of a group.  [default: the database]",
            show_default=False,
            autocompletion=complete_run,
        ),
    ] = None,
    findings: Annotated[
        bool, typer.Option("--why", help="List what speaks against the run's numbers.")
    ] = False,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Show what the database holds, or the verdicts of one run."""
    from orchestrator.commands.results.status import current_installation, report_status
    from orchestrator.commands.results.status_words import print_status

    path = database_in(results, database)
    if run is None and not findings:
        print_status(report_status(results, path, current_installation()), as_json=json)
        return
    from orchestrator.commands.results.run_report import report_runs
    from orchestrator.commands.results.run_words import print_findings, print_runs

    report = report_runs(run or "last", path)
    if findings:
        print_findings(report, as_json=json)
    else:
        print_runs(report, as_json=json, table=table, quiet=chosen.quiet)
