"""`validate`: whether the database is sound, and what can be mended."""

from typing import Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.options import database_in
from orchestrator.system.files import RESULTS_FOLDER

FOUND_ERRORS = 1


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
    """Check the database: references, duplicates, impossible values, contradictions."""
    from orchestrator.render.maintain import print_validation
    from orchestrator.store import fix_database, validate_database

    path = database_in(results, database)
    found = fix_database(path, results) if fix else validate_database(path)
    print_validation(found, path, as_json=json)
    return FOUND_ERRORS if found.errors else 0
