"""`compatibility`: which model or family works how well on which backend."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from analysis.compatibility.families import FamilySummary, summarise_families
from analysis.compatibility.ratings import Rating, rate
from analysis.compatibility.verdicts import read_evidence
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.commands.program.command import Command
from orchestrator.commands.results.selection import ResultSelection, SelectionRequest
from orchestrator.screen.sheet_output import SheetOutput
from orchestrator.system.options import choice
from runner.contract.errors import NothingToDo

if TYPE_CHECKING:
    from analysis.charts.chart import Chart

_EXAMPLE = "bert-tiny"
_Row = Literal["model", "family"]


@dataclass(frozen=True)
class CompatibilityReport:
    """The ratings of models on backends."""

    database: Path
    ratings: tuple[Rating, ...]
    """By model, mode and backend."""
    families: tuple[FamilySummary, ...] | None = None
    """The families with a result; None if a row is a model."""

    @property
    def backends(self) -> tuple[str, ...]:
        """Backends with a verdict, in the catalogue's order."""
        known = {rating.backend for rating in self.ratings}
        return (*(name for name in CATALOGUE if name in known), *sorted(known - {*CATALOGUE}))

    def chart(self) -> "Chart | None":
        """The ratings drawn, or the families' speed-ups; None where there is none to draw."""
        from analysis.charts.architectures import families_chart
        from analysis.charts.ratings import ratings_chart

        if self.families is not None:
            return families_chart(self.families)
        return ratings_chart(self.ratings)


def report_compatibility(
    request: SelectionRequest, *, by_family: bool = False
) -> CompatibilityReport:
    """Rate all selected models on all backends that any of them has a verdict on."""
    with request.open() as (store, selection):
        ratings = rate(read_evidence(store, selection))
        families = summarise_families(store, selection) if by_family else None
    if ratings:
        return CompatibilityReport(request.database, ratings, families)
    models = request.filters.get("model") or _EXAMPLE
    names = models if isinstance(models, str) else ",".join(models)
    raise NothingToDo(
        "no verdict fits the filters"
        if request.filters or request.run
        else f"{request.database}: holds no verdict yet",
        hint=f"`orchestrator bench --model {names} --backend available` measures on all that is"
        " here",
    )


@dataclass(frozen=True, kw_only=True)
class CompatibilityCommand(SheetOutput, ResultSelection, Command):
    """Show how well each model works on each backend. Reasons come with what helps.

    By family, with the best backend, int8's memory and scaling of each.
    """

    by: Annotated[_Row, choice(_Row, "--by", help="A row for each of these.")] = "model"

    def execute(self) -> None:
        """Show the table."""
        from orchestrator.commands.compatibility.table import compatibility_sheet

        selected = self.selected
        self.require(selected.database)
        report = report_compatibility(selected, by_family=self.by == "family")
        self.draw(report.chart)
        self.show(compatibility_sheet(report, self.format))
