"""`status`: content of the database, and stale results."""

from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.options import database_in
from orchestrator.system.files import RESULTS_FOLDER


def status(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN_ID|last", help="One run.  [default: the database]", show_default=False
        ),
    ] = None,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Show what the database holds, or the verdicts of one run."""
    from orchestrator.app.results.status import current_installation, report_status
    from orchestrator.render.status import print_status

    path = database_in(results, database)
    if run is None:
        print_status(report_status(results, path, current_installation()), as_json=json)
        return
    from orchestrator.app.measure.run import report_run
    from orchestrator.render.results import print_results

    print_results(report_run(run, path), as_json=json)
