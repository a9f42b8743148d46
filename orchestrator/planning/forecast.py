"""Forecasts of a plan's cells: what a predictor says where nothing was measured."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.system.text import format_size
from runner.contract.cell import Backend, Cell
from runner.contract.job import Limits
from runner.contract.models import ModelSpec

if TYPE_CHECKING:
    from orchestrator.store.query.results import CellSpeed

EstimateSource = Literal["measured", "predicted", "arithmetic"]
"""The origin of a cell's seconds: its iterations here before, a predictor, or its sizes."""


@dataclass(frozen=True, slots=True)
class CellForecast:
    """Predictions of one cell on this machine; None for what is not predicted."""

    iteration_s: float | None = None
    memory_bytes: float | None = None


CellForecasts = Callable[[Sequence[Cell], Mapping[str, ModelSpec]], Sequence[CellForecast]]
"""Predicts cells on this machine; raises StoreError or UsageError where it cannot."""
FindForecasts = Callable[[Path], CellForecasts | None]
"""Finds what predicts cells, beside a database; None where nothing does."""


def no_forecast(database: Path) -> None:
    """FindForecasts that finds nothing."""


@dataclass(frozen=True)
class KnownSpeeds:
    """Known speeds of cells on the machine of a plan."""

    measured: "Mapping[str, CellSpeed]" = field(default_factory=dict)
    forecast: CellForecasts | None = None


def memory_remarks(
    forecasts: Iterable[tuple[Cell, CellForecast]],
    limits: Mapping[Backend, Limits],
    machine_bytes: int | None,
) -> Iterator[str]:
    """A sentence on cells that run though more memory is predicted than they may use."""
    beyond = [
        (cell, forecast.memory_bytes, allowed)
        for cell, forecast in forecasts
        if forecast.memory_bytes is not None
        and CATALOGUE[cell.backend].host_memory
        and (allowed := limits[cell.backend].memory_bytes or machine_bytes)
        and forecast.memory_bytes > allowed
    ]
    if beyond:
        cell, needed, allowed = max(beyond, key=lambda one: one[1])
        others = f" and {len(beyond) - 1:,} more" if len(beyond) > 1 else ""
        yield (
            f"{cell.id}{others} may run out of memory: {format_size(round(needed))} are predicted"
            f" at its peak, and {format_size(allowed)} may be used; nothing is skipped for that"
        )
