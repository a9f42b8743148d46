"""`validate`: checks a database, and repairs it."""

from typing import Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import database_in
from orchestrator.system.files import RESULTS_FOLDER


def validate(
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
    from orchestrator.commands.database.validate import validate_results
    from orchestrator.commands.database.words import print_validation

    report = validate_results(database_in(results, database), results, fix=fix)
    print_validation(report, as_json=json)
    return 0 if report.clean else 1
