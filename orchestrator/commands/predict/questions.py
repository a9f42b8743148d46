"""Questions to a database's predictor about cells that options name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.predict.manifest import PredictorManifest
from orchestrator.commands.predict.cells import (
    CellsAsked,
    PossibleCells,
    cells_of_axes,
    require_models,
)
from orchestrator.commands.predict.consultation import Consultation, consult
from orchestrator.commands.predict.custom_models import Notice, counted_cells, unheard_notice
from orchestrator.commands.predict.forecasts import PredictedCell, with_measured
from orchestrator.store import Store
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from analysis.charts.chart import Chart


@dataclass(frozen=True)
class PredictedCells:
    """The answer to a question about cells."""

    database: Path
    manifest: PredictorManifest
    targets: tuple[str, ...]
    cells: tuple[PredictedCell, ...]
    added: int
    """Results that came since the predictor was trained."""
    notes: Sequence[str]
    """Sentences about what was named."""
    named_models: Sequence[str] = ()
    """The models as options name them, folders and files by their paths."""

    def chart(self) -> "Chart":
        """Its first target over a size, drawn.

        Raises:
            UsageError: no size has two values of which something is predicted.
        """
        from analysis.charts.predictions.curve import DrawnCell, prediction_chart

        target = self.targets[0]
        drawn = [
            DrawnCell(one.cell, one.machine.name, one.answers[target], one.measured.get(target))
            for one in self.cells
            if one.machine is not None
        ]
        chart = prediction_chart(drawn, target)
        if chart is None:
            raise UsageError(
                "--chart: a curve needs two sizes at least of which something is predicted",
                hint="name several, e.g. --batch-size 1,2,4,8",
            )
        return chart


CellsOf = Callable[[Consultation], PossibleCells]
"""Gives the cells, once it is known which machines there are."""


def predict_cells(question: CellsAsked, report: Notice = unheard_notice) -> PredictedCells:
    """Predict the cells that options name.

    Args:
        question: the cells, the device and the targets.
        report: hears of models that are counted first.

    Raises:
        UsageError: an option is wrong, or the extra `analysis` is missing.
        NothingToDo: nothing of them can be predicted.
        StoreError: the predictor is missing, damaged or that of another database, or the database
            cannot be read.
    """
    require_models(question.axes)
    return predict_possible(question, lambda known: cells_of_axes(known.axes(question)), report)


def predict_possible(
    question: CellsAsked, cells_of: CellsOf, report: Notice = unheard_notice
) -> PredictedCells:
    """Predict cells that are named in whatever way; raises what `predict_cells` does."""
    consultation = consult(question)
    possible = counted_cells(cells_of(consultation), question.results, report)
    with Store.open_readonly(question.database) as store:
        cells = with_measured(consultation.forecast(possible), store)
    return PredictedCells(
        database=question.database,
        manifest=consultation.manifest,
        targets=consultation.targets,
        cells=cells,
        added=consultation.predictor.added,
        notes=possible.notes,
        named_models=question.axes.get("model", ()),
    )
