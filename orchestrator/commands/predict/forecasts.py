"""Forecasts of cells on known machines, with what was measured of them beside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.predict.examples.measured import measured_models, values_of_cells
from analysis.predict.examples.placements import KnownMachine
from analysis.predict.forecaster import Forecaster
from analysis.predict.predictor import NoPrediction, Prediction
from analysis.results.source import ArrowSource
from orchestrator.commands.predict.cells import PossibleCells
from orchestrator.screen.words.reasons import reason_text
from runner.contract.cell import Cell
from runner.contract.reasons import Reason

_FEW_CELLS = 500


@dataclass(frozen=True)
class PredictedCell:
    """A cell with what is predicted of it, and what was measured."""

    cell: Cell
    machine: KnownMachine | None
    """The machine that it is predicted for; None if none is known."""
    answers: Mapping[str, Prediction | NoPrediction]
    """By target."""
    measured: Mapping[str, float]
    """By target, in base units: the newest result on the same machine; empty if there is none."""

    @property
    def predictions(self) -> list[Prediction]:
        """The answers that are no refusals."""
        return [one for one in self.answers.values() if isinstance(one, Prediction)]


def forecast_cells(
    forecaster: Forecaster,
    possible: PossibleCells,
    targets: Sequence[str],
    machine: KnownMachine | None = None,
) -> tuple[PredictedCell, ...]:
    """The predictions of each cell, on this machine or on the best known one of its backend."""
    machines = [machine or forecaster.machine_of(cell.backend) for cell, _ in possible.cells]
    refusals = [
        _refusal(cell, _objection(cell, reason, possible), chosen)
        for (cell, reason), chosen in zip(possible.cells, machines, strict=True)
    ]
    asked_cells = [
        cell for (cell, _), refused in zip(possible.cells, refusals, strict=True) if not refused
    ]
    forecasts = forecaster.forecasts(
        asked_cells, possible.models, targets, machine, possible.counts
    )
    by_target = {
        name: (
            _marked(one, possible.guessed.get(cell.model))
            for cell, one in zip(asked_cells, answers, strict=True)
        )
        for name, answers in forecasts.items()
    }
    return tuple(
        PredictedCell(
            cell=cell,
            machine=chosen,
            answers={name: refused or next(answers) for name, answers in by_target.items()},
            measured={},
        )
        for (cell, _), chosen, refused in zip(possible.cells, machines, refusals, strict=True)
    )


def with_measured(cells: Sequence[PredictedCell], source: ArrowSource) -> tuple[PredictedCell, ...]:
    """The same cells with what was measured of them, each on its machine."""
    machines = {one.machine.key for one in cells if one.machine is not None}
    models = None if len(cells) <= _FEW_CELLS else measured_models(source, machines)
    ids = {
        number: one.cell.id
        for number, one in enumerate(cells)
        if one.machine is not None and (models is None or one.cell.model in models)
    }
    values = values_of_cells(source, machines, ids.values())
    if not values:
        return tuple(cells)
    return tuple(
        replace(one, measured=measured)
        if one.machine
        and number in ids
        and (measured := values.get((one.machine.key, ids[number])))
        else one
        for number, one in enumerate(cells)
    )


def _marked(answer: Prediction | NoPrediction, doubt: str | None) -> Prediction | NoPrediction:
    """The answer; with a doubt it is an extrapolation."""
    if doubt is None or isinstance(answer, NoPrediction):
        return answer
    return replace(answer, outside=(doubt, *answer.outside))


def _uncounted(cell: Cell, possible: PossibleCells) -> str | None:
    reason = possible.uncounted.get(cell.model)
    return reason and f"the work of {cell.model} is not counted: {reason}"


def _objection(cell: Cell, reason: Reason | None, possible: PossibleCells) -> str | None:
    return reason_text(reason) if reason else _uncounted(cell, possible)


def _refusal(cell: Cell, reason: str | None, machine: KnownMachine | None) -> NoPrediction | None:
    if reason is not None:
        return NoPrediction(reason)
    if machine is not None and cell.backend not in machine.backends:
        backends = ", ".join(machine.backends) or "none that is known"
        return NoPrediction(
            f"backend {cell.backend} is not of {machine.name}, which has {backends}"
        )
    return None
