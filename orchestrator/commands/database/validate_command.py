"""`validate`: checks a database, and repairs it."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.options.common import DatabaseChoice
from orchestrator.commands.program.command import Command
from orchestrator.system.options import Json


@dataclass(frozen=True, kw_only=True)
class ValidateCommand(DatabaseChoice, Command):
    """Check the database for impossible and contradictory values."""

    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Mend what can be derived, put the rest into quarantine; a copy stays."
        ),
    ] = False
    json: Json = False

    def execute(self) -> int:
        """Check, and mend."""
        from orchestrator.commands.database.validate import validate_results
        from orchestrator.commands.database.words import print_validation

        report = validate_results(self.database_file, self.results, fix=self.fix)
        print_validation(report, as_json=self.json)
        return 0 if report.clean else 1
