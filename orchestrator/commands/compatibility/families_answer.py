"""Families of models in a row each: what is asked, and answered or refused."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.compatibility.families import FamilySummary, summarise_families
from orchestrator.commands.results.selection import SelectionRequest
from runner.contract.errors import NothingToDo

if TYPE_CHECKING:
    from analysis.charts.chart import Chart


@dataclass(frozen=True)
class FamilyReport:
    """The families of a database."""

    database: Path
    families: tuple[FamilySummary, ...]

    def chart(self) -> "Chart | None":
        """Their speed-ups drawn; None where none was compared with the CPU."""
        from analysis.charts.architectures import families_chart

        return families_chart(self.families)


def report_families(request: SelectionRequest) -> FamilyReport:
    """Summarise the selected results by family.

    Raises:
        UsageError: there is no such run, or nothing could ever fit a filter.
        NothingToDo: nothing fits.
        StoreError: the database cannot be read.
    """
    with request.open() as (store, selection):
        families = summarise_families(store, selection)
    if not families:
        raise NothingToDo(
            "no result that may be quoted fits" if request.filters else "no result is there yet",
            hint="`orchestrator bench --model bert-tiny --backend available --precision fp32,int8"
            " --batch-size 1,8` measures what families are compared by",
        )
    return FamilyReport(request.database, families)
