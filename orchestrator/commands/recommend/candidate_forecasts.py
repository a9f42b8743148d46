"""Forecasts of candidates: one call of the predictor for each machine and target."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from analysis.predict.novelty_words import NAMED_NOVELTIES
from analysis.recommend.candidates import Candidate, key_of_cell
from analysis.recommend.figures import Figure
from analysis.recommend.known_results import PlacedCell
from analysis.recommend.objectives import Objective
from analysis.statistics.ratios import estimate
from runner.contract.models import ModelSpec

if TYPE_CHECKING:
    from analysis.predict.examples.placements import KnownMachine
    from analysis.predict.forecaster import Forecaster
    from analysis.predict.predictor import NoPrediction, Prediction, TargetPredictor

NO_PREDICTOR = "there is no predictor to ask"
_NEW_MACHINE = "the predictor was trained without this machine"

LEAST_GROUPS = 10
"""Models, cells or the like from which on their errors say something about others."""

Forecasts = Mapping[PlacedCell, Figure | str]
"""By cell and machine a predicted figure, or the reason why there is none."""


def forecast_candidates(
    candidates: Sequence[Candidate],
    target: Objective,
    forecaster: "Forecaster | None",
    models: Mapping[str, ModelSpec],
) -> Forecasts:
    """The predicted figure of each candidate, in customary units."""
    if forecaster is None:
        return _refused(candidates, NO_PREDICTOR)
    if target.metric not in forecaster.predictors:
        return _refused(candidates, f"too little was measured to predict {target.label}")
    answers: dict[PlacedCell, Figure | str] = {}
    machines = {machine.key: machine for machine in forecaster.machines}
    for key in dict.fromkeys(one.machine.key for one in candidates):
        here = [one for one in candidates if one.machine.key == key]
        if key in machines:
            answers |= _on_machine(here, target, forecaster, machines[key], models)
        else:
            answers |= _refused(here, _NEW_MACHINE)
    return answers


def place_of(candidate: Candidate) -> PlacedCell:
    """The cell and the machine of a candidate, as results are found by."""
    return key_of_cell(candidate.cell), candidate.machine.key


def _refused(candidates: Iterable[Candidate], reason: str) -> Forecasts:
    return {place_of(one): reason for one in candidates}


def _on_machine(
    candidates: Sequence[Candidate],
    target: Objective,
    forecaster: "Forecaster",
    machine: "KnownMachine",
    models: Mapping[str, ModelSpec],
) -> Forecasts:
    cells, predictor = [one.cell for one in candidates], forecaster.predictors[target.metric]
    answers = forecaster.forecast(cells, models, target.metric, machine)
    pairs = zip(candidates, answers, strict=True)
    return {place_of(one): predicted_figure(answer, target, predictor) for one, answer in pairs}


def predicted_figure(
    answer: "Prediction | NoPrediction", target: Objective, predictor: "TargetPredictor"
) -> Figure | str:
    """A prediction as a figure in customary units, or the reason why there is none.

    Memory is promised, so an interval that few groups tell is none: nothing says that one in twenty
    is beyond its upper end.
    """
    from analysis.predict.predictor import NoPrediction

    if isinstance(answer, NoPrediction):
        return answer.reason
    value, low, high = (target.scale * end for end in (answer.value, answer.low, answer.high))
    outside = answer.outside
    calibration = predictor.calibration(answer.novelty)
    if target.name == "memory" and calibration and calibration.groups < LEAST_GROUPS:
        count = f"{calibration.groups} {NAMED_NOVELTIES[calibration.novelty].groups}"
        outside = (*outside, f"its errors are known from {count} alone, not {LEAST_GROUPS}")
    return Figure(value, estimate(value, low, high), "predicted", outside=outside)
