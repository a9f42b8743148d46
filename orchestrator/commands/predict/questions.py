"""Questions to a database's predictor, and the answers to those about cells."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from analysis.predict.examples.example_rows import measured_targets
from analysis.predict.examples.machines import find_machine, machine_of_data_sheet
from analysis.predict.examples.placements import KnownMachine
from analysis.predict.forecaster import Forecaster
from analysis.predict.manifest import PredictorManifest
from analysis.predict.predictor import NoPrediction, Prediction
from orchestrator.commands.predict.cells import (
    CellsAsked,
    Notice,
    PossibleCells,
    cells_of_axes,
    counted_cells,
    require_models,
    unheard_notice,
)
from orchestrator.commands.predict.question import ALL_TARGETS
from orchestrator.commands.predict.stored_predictor import StoredPredictor, look_into_predictor
from orchestrator.matrix.model_names import typed_name
from orchestrator.screen.words.reasons import reason_text
from orchestrator.store.store import Store
from runner.contract.axes import AxisName
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo, UsageError, suggest
from runner.contract.reasons import Reason

if TYPE_CHECKING:
    from analysis.charts.chart import Chart

_USUAL_TARGETS = ("latency", "throughput", "memory", "energy")
_USUAL_BACKEND = "cpu"


@dataclass(frozen=True)
class PredictedCell:
    """A cell with what is predicted of it, and what was measured."""

    cell: Cell
    machine: KnownMachine | None
    """The machine that it is predicted for; None if none is known."""
    answers: Mapping[str, Prediction | NoPrediction]
    measured: Mapping[str, float] = field(default_factory=dict)
    """By target, in base units: the newest result on the same machine; empty if there is none."""

    @property
    def predictions(self) -> list[Prediction]:
        return [one for one in self.answers.values() if isinstance(one, Prediction)]


@dataclass(frozen=True)
class PredictedCells:
    """The answer to a question about cells."""

    predictor: StoredPredictor
    targets: tuple[str, ...]
    cells: tuple[PredictedCell, ...]
    named_models: Sequence[str] = ()
    """The models as options name them, folders and files by their paths."""

    def chart(self) -> "Chart":
        from analysis.charts.predictions import DrawnCell, prediction_chart

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


@dataclass(frozen=True)
class Consultation:
    """A predictor that is asked about some targets on a machine."""

    predictor: StoredPredictor
    targets: tuple[str, ...]
    forecaster: Forecaster
    machine: KnownMachine | None

    def axes(self, question: CellsAsked) -> Mapping[AxisName, Sequence[str]]:
        known = [self.machine] if self.machine else list(self.forecaster.machines)
        backends = [backend for one in known for backend in one.backends]
        is_named = question.axes.get("backend") or question.axes.get("runtime")
        if is_named or not backends or _USUAL_BACKEND in backends:
            return question.axes
        return {**question.axes, "backend": backends[:1]}

    def forecast(self, possible: PossibleCells) -> tuple[PredictedCell, ...]:
        cells = forecast_cells(self.forecaster, possible, self.targets, self.machine)
        if not any(one.predictions for one in cells):
            others = [name for name in self.predictor.manifest.targets if name not in self.targets]
            forecaster = self.predictor.forecaster(others)
            known = forecast_cells(forecaster, possible, others, self.machine)
            answers = [one.answers for one in known]
            measured = {name for one in self.forecaster.machines for name in one.backends}
            absent = {one.cell.backend: one.cell.model for one in cells}
            raise _nothing(
                cells,
                {name: model for name, model in absent.items() if name not in measured},
                [
                    name
                    for name in others
                    if any(isinstance(answer[name], Prediction) for answer in answers)
                ],
            )
        return cells


def predict_cells(question: CellsAsked, report: Notice = unheard_notice) -> PredictedCells:
    """Predict the cells that options name; the notice hears of models that are counted first."""
    require_models(question.axes)
    return predict_possible(question, lambda known: cells_of_axes(known.axes(question)), report)


def predict_possible(
    question: CellsAsked,
    cells_of: Callable[[Consultation], PossibleCells],
    report: Notice = unheard_notice,
) -> PredictedCells:
    """Predict cells that are named in whatever way; raises what `predict_cells` does."""
    consultation = consult(question)
    cells = consultation.forecast(counted_cells(cells_of(consultation), question.results, report))
    placed = [(one.machine.key if one.machine else "", one.cell) for one in cells]
    with Store.open_readonly(question.database) as store:
        measured = measured_targets(store, placed)
    cells = tuple(
        replace(one, measured=measured.get(number, {})) for number, one in enumerate(cells)
    )
    models = question.axes.get("model", ())
    return PredictedCells(consultation.predictor, consultation.targets, cells, models)


def consult(question: CellsAsked) -> Consultation:
    predictor = look_into_predictor(question.database)
    targets = _chosen_targets(predictor.manifest, question.targets)
    forecaster = predictor.forecaster(targets)
    machine = _chosen_machine(forecaster, question.device)
    return Consultation(predictor, targets, forecaster, machine)


def forecast_cells(
    forecaster: Forecaster,
    possible: PossibleCells,
    targets: Sequence[str],
    machine: KnownMachine | None = None,
) -> tuple[PredictedCell, ...]:
    placed = [
        (cell, chosen, _refusal(cell, reason, chosen, possible))
        for cell, reason in possible.cells
        for chosen in [machine or forecaster.machine_of(cell.backend)]
    ]
    asked_cells = [cell for cell, _, refusal in placed if not refusal]
    forecasts = forecaster.forecasts(
        asked_cells, possible.models, targets, machine, possible.counts
    )
    doubts = [possible.guessed.get(cell.model) for cell in asked_cells]
    by_target = {name: map(_marked, answers, doubts) for name, answers in forecasts.items()}
    return tuple(
        PredictedCell(
            cell, chosen, {name: refusal or next(answers) for name, answers in by_target.items()}
        )
        for cell, chosen, refusal in placed
    )


def _refusal(
    cell: Cell, reason: Reason | None, machine: KnownMachine | None, possible: PossibleCells
) -> NoPrediction | None:
    if reason is not None:
        return NoPrediction(reason_text(reason))
    if uncounted := possible.uncounted.get(cell.model):
        return NoPrediction(f"the work of {cell.model} is not counted: {uncounted}")
    if machine is None or cell.backend in machine.backends:
        return None
    backends = ", ".join(machine.backends) or "none that is known"
    return NoPrediction(f"backend {cell.backend} is not of {machine.name}, which has {backends}")


def _marked(answer: Prediction | NoPrediction, doubt: str | None) -> Prediction | NoPrediction:
    """The answer; with a doubt it is an extrapolation."""
    if doubt is None or isinstance(answer, NoPrediction):
        return answer
    return replace(answer, outside=(doubt, *answer.outside))


def _chosen_targets(manifest: PredictorManifest, named: Sequence[str]) -> tuple[str, ...]:
    """The targets that are asked for; the first that the predictor knows if none is named."""
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
    if name is None:
        return None
    machine = find_machine(name, forecaster.machines)
    machine = machine or machine_of_data_sheet(name, forecaster.machines)
    if machine is None:
        names = [one.name for one in forecaster.machines]
        raise UsageError(
            f"--device {name}: nothing was measured on it, and no data sheet of it is known"
            f"{suggest(name, names)}",
            hint=f"results are from {', '.join(names)}; `orchestrator merge` brings another"
            " machine's here, `orchestrator import` those of others, and then `orchestrator predict"
            " train --source all` learns from them",
        )
    return machine


def _nothing(
    cells: Sequence[PredictedCell], absent: Mapping[str, str], others: Sequence[str]
) -> NothingToDo:
    """The refusal: `absent` are the backends without a result, each with a model asked about."""
    reasons = Counter(
        answer.reason
        for one in cells
        for answer in one.answers.values()
        if isinstance(answer, NoPrediction)
    )
    (first, count), *more = reasons.most_common()
    of_all = f" ({count:,} of {len(cells):,} cells; {len(more)} more reasons)" if more else ""
    message = "nothing can be predicted"
    hint = (
        "`orchestrator predict show` says what the predictor rests on; `orchestrator bench`"
        " measures what it lacks"
    )
    if others:
        message = "nothing of that target can be predicted"
        options = " or ".join(f"--target {name}" for name in others)
        hint = f"{options} is answered: results of that kind were measured there"
    elif absent:
        backend, model = next(iter(absent.items()))
        hint = (
            "measure where there is one, `orchestrator bench --model"
            f" {typed_name(model)} --backend {backend}`, and `orchestrator merge` its results here;"
            " or `orchestrator import` what others measured; then `orchestrator predict train"
            " --source all`"
        )
    return NothingToDo(f"{message}: {first}{of_all}", hint=hint)
