"""Explanations of predictions: counted work, then the factors that make a prediction of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from analysis.charts.predictions import (
    factor_name,
    main_factors,
    shown_amount,
    shown_heading,
    shown_value,
)
from analysis.charts.words import listed
from analysis.predict.examples.placements import PREDICTION_TARGETS, KnownMachine, Target
from analysis.predict.explanation import Explanation, explanation_of
from analysis.predict.forecaster import placement_of
from analysis.predict.predictor import NoPrediction
from analysis.results.table import Field, Table
from analysis.statistics.numbers import format_number
from orchestrator.commands.predict.cells import (
    CellsAsked,
    Notice,
    PossibleCells,
    axes_of_id,
    cells_of_axes,
    counted_cells,
    require_models,
    unheard_notice,
)
from orchestrator.commands.predict.questions import Consultation, PredictedCell, consult
from orchestrator.commands.predict.stored_predictor import StoredPredictor
from orchestrator.commands.predict.words import NOVELTY_WORDS, later_words, source_words
from orchestrator.screen.sheet import ON_SCREEN, Sheet
from runner.contract.cell import Cell
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from analysis.charts.chart import Chart

_MOST_CELLS = 20
_MOST_FACTORS = 8
"""Factors that a terminal shows; of the others it shows the product."""
_MOST_NAMED = 2
_BASE, _PREDICTION = "counted work", "prediction"


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

    predictor: StoredPredictor
    cells: tuple[ExplainedCell, ...]
    refused: int

    def chart(self) -> "Chart":
        from analysis.charts.predictions import explanation_chart

        first = self.cells[0]
        return explanation_chart(
            *(first.cell.id, first.cell.backend, first.machine.name),
            *(first.target, first.explanation),
        )


def explain_cells(
    question: CellsAsked, cell_ids: Sequence[str], report: Notice = unheard_notice
) -> Explanations:
    if cell_ids and question.axes:
        raise UsageError(
            "predict explain: takes ids of cells, or options that name them",
            hint="leave one of them out",
        )
    if not cell_ids:
        require_models(question.axes)
    consultation = consult(question)
    parts = [cells_of_axes(axes_of_id(one)) for one in cell_ids]
    parts = parts or [cells_of_axes(consultation.axes(question))]
    possible = PossibleCells(
        tuple(entry for part in parts for entry in part.cells),
        {name: model for part in parts for name, model in part.models.items()},
    )
    possible = counted_cells(possible, question.results, report)
    if len(possible.cells) > _MOST_CELLS:
        raise UsageError(
            f"predict explain: {len(possible.cells):,} cells are too many to explain; at most"
            f" {_MOST_CELLS}",
            hint="name fewer values",
        )
    cells = consultation.forecast(possible)
    explained = tuple(_explained(consultation, possible, cells))
    refused = sum(not one.predictions for one in cells)
    return Explanations(consultation.predictor, explained, refused)


def _explained(
    consultation: Consultation, possible: PossibleCells, cells: Sequence[PredictedCell]
) -> Iterator[ExplainedCell]:
    """Each target of each cell, as far as it is not refused."""
    for one in cells:
        if one.machine is None:
            continue
        model = possible.models[one.cell.model]
        placement = placement_of(one.cell, model, one.machine, possible.counts)
        for target, answer in one.answers.items():
            if isinstance(answer, NoPrediction) or isinstance(placement, NoPrediction):
                continue
            explanation = explanation_of(consultation.forecaster.predictors[target], placement)
            if not isinstance(explanation, NoPrediction):
                explanation = replace(explanation, prediction=answer)
                yield ExplainedCell(one.cell, one.machine, PREDICTION_TARGETS[target], explanation)


def explanation_sheet(answer: Explanations, form: str) -> Sheet:
    tables = [_table(one, form) for one in answer.cells]
    document = {
        "database": str(answer.predictor.database),
        "explanations": [_document(one) for one in answer.cells],
        "refused": answer.refused,
    }
    first, predictor = answer.cells[0], answer.predictor
    rests = source_words(predictor.manifest.targets[first.target.name].examples)
    notes = [f"rests on {rests}; {NOVELTY_WORDS[first.explanation.prediction.novelty]}"]
    if answer.refused:
        more = f"{answer.refused:,} more, which `orchestrator predict` gives the reasons of"
        notes.append(f"refused: {more}")
    notes += later_words(predictor)
    return Sheet("Explained predictions", tables, notes, document)


def _table(one: ExplainedCell, form: str) -> Table:
    factors = one.explanation.factors
    shown = main_factors(factors, _MOST_FACTORS) if form == ON_SCREEN else factors
    steps: list[dict[str, Any]] = [
        {
            "step": f"trees: {factor.name}" if factor.origin == "trees" else factor.name,
            "of": factor.subject or None,
            "factor": factor.value,
        }
        for factor in shown
    ]
    base = shown_value(one.explanation.base, one.target)
    value = shown_value(one.explanation.prediction.value, one.target)
    rows = [
        {"step": _BASE, "of": f"at the peaks of {one.machine.name}", "value": base},
        *steps,
        {"step": _PREDICTION, "value": value},
    ]

    def times(factor: float | None) -> str | None:
        return None if factor is None else format_number(factor)

    fields = [
        Field("step", essential=True),
        Field("of", wraps=True, essential=True),
        Field("factor", "times", essential=True, right=True, shown=times),
        Field("value", shown_heading(one.target).rpartition(", ")[2], essential=True),
    ]
    title = f"{shown_heading(one.target).partition(',')[0]} of {one.cell.id}"
    return Table(title, fields, rows, tuple(_sentences(one)))


def _sentences(one: ExplainedCell) -> Iterator[str]:
    explanation, target = one.explanation, one.target
    shares = sorted(explanation.shares.items(), key=lambda share: -share[1])
    parts = [f"{share:.0%} {name}" for name, share in shares if share >= 0.005]
    main = [
        f"{format_number(factor.value)} for {factor_name(factor)}"
        for factor in explanation.factors[:_MOST_NAMED]
    ]
    times = f", mostly times {listed(main)}" if main else ""
    yield (
        f"counted work is {listed(parts)}: {shown_amount(explanation.base, target)}; it becomes"
        f" {shown_amount(explanation.prediction.value, target)}{times}"
    )
    if explanation.prediction.outside:
        yield f"extrapolation: {'; '.join(explanation.prediction.outside)}"


def _document(one: ExplainedCell) -> dict[str, Any]:
    explanation, prediction = one.explanation, one.explanation.prediction
    return {
        "cell": one.cell.id,
        "hardware": one.machine.name,
        "target": one.target.column,
        "unit": one.target.unit,
        "value_predicted": prediction.value,
        "low_predicted": prediction.low,
        "high_predicted": prediction.high,
        "novelty": prediction.novelty,
        "outside": prediction.outside,
        "base": explanation.base,
        "base_shares": explanation.shares,
        "factors": [
            {"origin": one.origin, "name": one.name, "subject": one.subject, "factor": one.value}
            for one in explanation.factors
        ],
    }
