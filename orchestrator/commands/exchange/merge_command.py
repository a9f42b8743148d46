"""`merge`: records, runs, bundles and databases of others into the database."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.common import database_in
from orchestrator.system.files import RESULTS_FOLDER


def merge_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS…", help="Results folders, record files, bundles, or databases."
        ),
    ],
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    scratch: options.Scratch = False,
    json: options.Json = False,
) -> None:
    """Merge records into the database. Merging twice changes nothing."""
    from orchestrator.commands.exchange.merge import merge_paths
    from orchestrator.commands.exchange.merge_words import print_merged

    path = database_in(results, database)
    report = merge_paths(paths, path, scratch=scratch)
    print_merged(report, path, as_json=json)
    report.require_complete()
