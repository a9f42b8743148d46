"""Forecasts of cells on known machines, with what was measured of them beside."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.prediction.artefact.manifest import PredictorManifest
from analysis.prediction.examples.known_machines import find_machine, machine_of_data_sheet
from analysis.prediction.examples.measured import measured_models, values_of_cells
from analysis.prediction.examples.placements import KnownMachine
from analysis.prediction.forecaster import Forecaster
from analysis.prediction.predictor import NoPrediction, Prediction
from analysis.results.source import ArrowSource
from orchestrator.app.predictions.cells import CellsAsked, PossibleCells
from runner.contract.axes import AxisName
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo, UsageError, suggest

ALL_TARGETS = "all"
_USUAL_TARGETS = ("latency", "throughput", "memory", "energy")
_USUAL_BACKEND = "cpu"
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


def chosen_targets(manifest: PredictorManifest, named: Sequence[str]) -> tuple[str, ...]:
    """The targets that are asked for; the first that the predictor knows if none is named.

    Raises:
        NothingToDo: the predictor does not know one.
    """
    known = [*manifest.targets]
    if ALL_TARGETS in named:
        return tuple(known)
    if not named:
        return tuple(name for name in _USUAL_TARGETS if name in known)[:1]
    for name in named:
        if name not in known:
            raise NothingToDo(
                f"--target {name}: too few results have it; the predictor knows {', '.join(known)}",
                hint="measure it where that is possible, then `orchestrator predict train`",
            )
    return tuple(named)


def chosen_machine(forecaster: Forecaster, name: str | None) -> KnownMachine | None:
    """The machine of that name, or the device of a data sheet; None if no name is given.

    Raises:
        UsageError: nothing is known under that name.
    """
    if name is None:
        return None
    machine = find_machine(name, forecaster.machines)
    machine = machine or machine_of_data_sheet(name, forecaster.machines)
    if machine is None:
        names = [one.name for one in forecaster.machines]
        raise UsageError(
            f"--device {name}: nothing was measured on it, and no data sheet of it is known"
            f"{suggest(name, names)}",
            hint=f"results are from {', '.join(names)}",
        )
    return machine


def axes_with_backend(
    question: CellsAsked, forecaster: Forecaster, machine: KnownMachine | None
) -> Mapping[AxisName, Sequence[str]]:
    """The axes; where they name no backend, that of the machine, or the one that is known best."""
    known = [machine] if machine else list(forecaster.machines)
    backends = [backend for one in known for backend in one.backends]
    if question.names_a_path or not backends or _USUAL_BACKEND in backends:
        return question.axes
    return {**question.axes, "backend": backends[:1]}


def forecast_cells(
    forecaster: Forecaster,
    possible: PossibleCells,
    targets: Sequence[str],
    machine: KnownMachine | None = None,
) -> tuple[PredictedCell, ...]:
    """The predictions of each cell, on this machine or on the best known one of its backend."""
    machines = [machine or forecaster.machine_of(cell.backend) for cell, _ in possible.cells]
    refusals = [
        _refusal(cell, reason or _uncounted(cell, possible), chosen)
        for (cell, reason), chosen in zip(possible.cells, machines, strict=True)
    ]
    asked_cells = [
        cell for (cell, _), refused in zip(possible.cells, refusals, strict=True) if not refused
    ]
    forecasts = forecaster.forecasts(
        asked_cells, possible.models, targets, machine, possible.counts
    )
    by_target = {name: iter(answers) for name, answers in forecasts.items()}
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


def require_some(cells: Sequence[PredictedCell]) -> None:
    """Insist that something of some cell is predicted.

    Raises:
        NothingToDo: every one is refused.
    """
    if any(one.predictions for one in cells):
        return
    reasons = Counter(
        answer.reason
        for one in cells
        for answer in one.answers.values()
        if isinstance(answer, NoPrediction)
    )
    (first, count), *others = reasons.most_common()
    of_all = f" ({count:,} of {len(cells):,} cells; {len(others)} more reasons)" if others else ""
    raise NothingToDo(
        f"nothing can be predicted: {first}{of_all}",
        hint="`orchestrator predict show` says what the predictor rests on; `orchestrator bench`"
        " measures what it lacks",
    )


def _uncounted(cell: Cell, possible: PossibleCells) -> str | None:
    reason = possible.uncounted.get(cell.model)
    return reason and f"the work of {cell.model} is not counted: {reason}"


def _refusal(cell: Cell, reason: str | None, machine: KnownMachine | None) -> NoPrediction | None:
    if reason is not None:
        return NoPrediction(reason)
    if machine is not None and cell.backend not in machine.backends:
        backends = ", ".join(machine.backends) or "none that is known"
        return NoPrediction(
            f"backend {cell.backend} is not of {machine.name}, which has {backends}"
        )
    return None
