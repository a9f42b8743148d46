"""Explanations of predictions: what drives each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.predict.examples.placements import KnownMachine
from analysis.predict.examples.targets import PREDICTION_TARGETS, Target
from analysis.predict.explanation import Explanation, explanation_of
from analysis.predict.forecaster import Forecaster, placement_of
from analysis.predict.manifest import PredictorManifest
from analysis.predict.predictor import NoPrediction
from orchestrator.commands.predict.cells import (
    CellsAsked,
    PossibleCells,
    axes_of_id,
    cells_of_axes,
    require_models,
)
from orchestrator.commands.predict.consultation import Consultation, consult
from orchestrator.commands.predict.custom_models import Notice, counted_cells, unheard_notice
from orchestrator.commands.predict.forecasts import PredictedCell
from runner.contract.cell import Cell
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from analysis.charts.chart import Chart

_MOST_CELLS = 20


@dataclass(frozen=True)
class ExplainedCell:
    """The explanation of one prediction."""

    cell: Cell
    machine: KnownMachine
    target: Target
    explanation: Explanation


@dataclass(frozen=True)
class Explanations:
    """Explanations of one or more predictions."""

    database: Path
    manifest: PredictorManifest
    cells: tuple[ExplainedCell, ...]
    added: int
    """Results that came since the predictor was trained."""
    refused: int
    """Cells of which nothing is predicted."""

    def chart(self) -> "Chart":
        """The first of them, drawn."""
        from analysis.charts.predictions.factors import explanation_chart

        first = self.cells[0]
        return explanation_chart(
            *(first.cell.id, first.cell.backend, first.machine.name),
            *(first.target, first.explanation),
        )


def explain_cells(
    question: CellsAsked, cell_ids: Sequence[str], report: Notice = unheard_notice
) -> Explanations:
    """Explain the predictions of cells, by their ids or as options name them.

    Args:
        question: the cells, the device and the targets.
        cell_ids: ids of cells, in place of axes.
        report: hears of models that are counted first.

    Raises:
        UsageError: an option or an id is wrong, there are too many cells, or the extra `analysis`
            is missing.
        NothingToDo: nothing of them can be predicted.
        StoreError: the predictor is missing, damaged or that of another database, or the database
            cannot be read.
    """
    if cell_ids and question.axes:
        raise UsageError(
            "predict explain: takes ids of cells, or options that name them",
            hint="leave one of them out",
        )
    if not cell_ids:
        require_models(question.axes)
    consultation = consult(question)
    possible = counted_cells(_cells(question, cell_ids, consultation), question.results, report)
    if len(possible.cells) > _MOST_CELLS:
        raise UsageError(
            f"predict explain: {len(possible.cells):,} cells are too many to explain; at most"
            f" {_MOST_CELLS}",
            hint="name fewer values",
        )
    cells = consultation.forecast(possible)
    explained = [
        ExplainedCell(one.cell, one.machine, PREDICTION_TARGETS[target], explanation)
        for one in cells
        if one.machine is not None and one.predictions
        for target in consultation.targets
        if (explanation := _explanation(consultation.forecaster, target, possible, one))
    ]
    refused = sum(not one.predictions for one in cells)
    return Explanations(
        *(question.database, consultation.manifest, tuple(explained)),
        *(consultation.predictor.added, refused),
    )


def _cells(
    question: CellsAsked, cell_ids: Sequence[str], consultation: Consultation
) -> PossibleCells:
    """The cells with these ids; those that options name where there are none."""
    if not cell_ids:
        return cells_of_axes(consultation.axes(question))
    parts = [cells_of_axes(axes_of_id(one)) for one in cell_ids]
    return PossibleCells(
        tuple(entry for part in parts for entry in part.cells),
        {name: model for part in parts for name, model in part.models.items()},
    )


def _explanation(
    forecaster: Forecaster, target: str, possible: PossibleCells, one: PredictedCell
) -> Explanation | None:
    """None where this target of the cell is refused."""
    answer = one.answers[target]
    if isinstance(answer, NoPrediction) or one.machine is None:
        return None
    model = possible.models[one.cell.model]
    placement = placement_of(one.cell, model, one.machine, possible.counts)
    if isinstance(placement, NoPrediction):
        return None
    explanation = explanation_of(forecaster.predictors[target], placement)
    if isinstance(explanation, NoPrediction):
        return None
    return replace(explanation, prediction=answer)
