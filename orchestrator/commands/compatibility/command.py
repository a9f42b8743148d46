"""`compatibility`: which model or family works how well on which backend."""

from dataclasses import dataclass
from typing import Annotated, Literal

from orchestrator.commands.program.command import Command
from orchestrator.commands.results.selected import ResultSelection
from orchestrator.screen.sheet_output import SheetOutput
from orchestrator.system.options import choice

_Row = Literal["model", "family"]


@dataclass(frozen=True, kw_only=True)
class CompatibilityCommand(SheetOutput, ResultSelection, Command):
    """Show how well each model works on each backend. Reasons come with what helps.

    By family, with the best backend, int8's memory and scaling of each.
    """

    by: Annotated[_Row, choice(_Row, "--by", help="A row for each of these.")] = "model"

    def execute(self) -> None:
        from orchestrator.commands.compatibility.answer import (
            compatibility_sheet,
            report_compatibility,
        )

        selected = self.selected
        self.require(selected.database)
        report = report_compatibility(selected, by_family=self.by == "family")
        self.draw(report.chart)
        self.show(compatibility_sheet(report, self.format))
