"""`merge`: run folders, records, bundles and databases of others into the database."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.commands.options.common import DatabaseChoice, ScratchOption
from orchestrator.commands.program.command import Command
from orchestrator.system.options import Json


@dataclass(frozen=True, kw_only=True)
class MergeCommand(DatabaseChoice, Command):
    """Merge records into the database. Merging twice changes nothing."""

    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS…", help="Results folders, record files, bundles, or databases."
        ),
    ]
    scratch: ScratchOption = False
    json: Json = False

    def execute(self) -> None:
        from orchestrator.commands.exchange.merge import merge_paths, print_merged

        report = merge_paths(self.paths, self.database_file, scratch=self.scratch)
        print_merged(report, self.database_file, as_json=self.json)
        report.require_complete()
