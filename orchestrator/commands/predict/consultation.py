"""Consultations: the predictor of a database with the targets and the machine of a question."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.predict.examples.known_machines import find_machine, machine_of_data_sheet
from analysis.predict.examples.placements import KnownMachine
from analysis.predict.forecaster import Forecaster
from analysis.predict.manifest import PredictorManifest
from analysis.predict.predictor import NoPrediction, Prediction
from orchestrator.commands.predict.cells import CellsAsked, PossibleCells
from orchestrator.commands.predict.forecasts import PredictedCell, forecast_cells
from orchestrator.commands.predict.stored_predictor import StoredPredictor, open_predictor
from orchestrator.store import Store
from runner.contract.axes import AxisName
from runner.contract.errors import NothingToDo, UsageError, suggest

ALL_TARGETS = "all"
_USUAL_TARGETS = ("latency", "throughput", "memory", "energy")
_USUAL_BACKEND = "cpu"


@dataclass(frozen=True)
class Consultation:
    """A predictor that is asked about some targets on a machine."""

    predictor: StoredPredictor
    targets: tuple[str, ...]
    forecaster: Forecaster
    machine: KnownMachine | None
    """None for the best known one of each backend."""

    @property
    def manifest(self) -> PredictorManifest:
        """The facts of its training."""
        return self.predictor.manifest

    def axes(self, question: CellsAsked) -> Mapping[AxisName, Sequence[str]]:
        """The axes; where they name no backend, that of the machine, or the one known best."""
        known = [self.machine] if self.machine else list(self.forecaster.machines)
        backends = [backend for one in known for backend in one.backends]
        if question.names_a_path or not backends or _USUAL_BACKEND in backends:
            return question.axes
        return {**question.axes, "backend": backends[:1]}

    def forecast(self, possible: PossibleCells) -> tuple[PredictedCell, ...]:
        """The predictions of each cell.

        Raises:
            NothingToDo: nothing of them can be predicted.
        """
        cells = forecast_cells(self.forecaster, possible, self.targets, self.machine)
        if not any(one.predictions for one in cells):
            raise _nothing(cells, self._other_targets(possible))
        return cells

    def _other_targets(self, possible: PossibleCells) -> list[str]:
        """The targets that were not asked about, and of which something can be predicted."""
        others = [name for name in self.manifest.targets if name not in self.targets]
        forecaster = self.predictor.forecaster(others)
        cells = forecast_cells(forecaster, possible, others, self.machine)
        return [
            name
            for name in others
            if any(isinstance(one.answers[name], Prediction) for one in cells)
        ]


def consult(question: CellsAsked) -> Consultation:
    """Open the predictor that a question is for.

    Raises:
        UsageError: the device is not known, or the extra `analysis` is missing.
        NothingToDo: the predictor does not know a target.
        StoreError: the predictor is missing, damaged or that of another database.
    """
    with Store.open_readonly(question.database) as store:
        predictor = open_predictor(question.database, store)
    targets = _chosen_targets(predictor.manifest, question.targets)
    forecaster = predictor.forecaster(targets)
    machine = _chosen_machine(forecaster, question.device)
    return Consultation(predictor, targets, forecaster, machine)


def _chosen_targets(manifest: PredictorManifest, named: Sequence[str]) -> tuple[str, ...]:
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
                hint=f"--target {known[0]} is answered; or measure {name} where that is possible,"
                " then `orchestrator predict train`",
            )
    return tuple(named)


def _chosen_machine(forecaster: Forecaster, name: str | None) -> KnownMachine | None:
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


def _nothing(cells: Sequence[PredictedCell], others: Sequence[str]) -> NothingToDo:
    """The error where every cell is refused.

    Args:
        cells: the cells.
        others: other targets that would be answered.
    """
    reasons = Counter(
        answer.reason
        for one in cells
        for answer in one.answers.values()
        if isinstance(answer, NoPrediction)
    )
    (first, count), *more = reasons.most_common()
    of_all = f" ({count:,} of {len(cells):,} cells; {len(more)} more reasons)" if more else ""
    if others:
        options = " or ".join(f"--target {name}" for name in others)
        return NothingToDo(
            f"nothing of that target can be predicted: {first}{of_all}",
            hint=f"{options} is answered: results of that kind were measured there",
        )
    return NothingToDo(
        f"nothing can be predicted: {first}{of_all}",
        hint="`orchestrator predict show` says what the predictor rests on; `orchestrator bench`"
        " measures what it lacks",
    )
