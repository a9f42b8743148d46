"""Compatibility of models or families with backends: what is asked, and answered or refused."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.compatibility.evidence import read_evidence
from analysis.compatibility.families import FamilySummary, summarise_families
from analysis.compatibility.ratings import Rating, rate
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.commands.results.selection import SelectionRequest
from runner.contract.errors import NothingToDo

if TYPE_CHECKING:
    from analysis.charts.chart import Chart

_EXAMPLE = "bert-tiny"


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
        from analysis.charts.compatibility import families_chart, ratings_chart

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
    if not ratings:
        raise _refusal(request)
    return CompatibilityReport(request.database, ratings, families)


def _refusal(request: SelectionRequest) -> NothingToDo:
    models = request.filters.get("model") or _EXAMPLE
    names = models if isinstance(models, str) else ",".join(models)
    hint = f"`orchestrator bench --model {names} --backend available` measures on all that is here"
    if request.filters or request.run:
        return NothingToDo("no verdict fits the filters", hint=hint)
    return NothingToDo(f"{request.database}: holds no verdict yet", hint=hint)
