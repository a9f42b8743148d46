"""Known candidates: what a database, a predictor and a file of prices tell of cells on machines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from analysis.compare.values import MetricValue
from analysis.predict.novelty import NAMED_NOVELTIES
from analysis.recommend.candidates import Candidate, Objection, key_of_cell
from analysis.recommend.choices import (
    LeftOutCandidate,
    RankedCandidate,
    Requirements,
    objection_by_level,
)
from analysis.recommend.figures import COST, OBJECTIVES, Figure, Objective, cost_figure
from analysis.recommend.known_results import (
    KnownVerdicts,
    PlacedCell,
    energy_scopes,
    known_verdicts,
    measured_durations,
    measured_figure,
    measured_values,
    memory_results,
    variations,
)
from analysis.recommend.memory_fit import MemoryResult, objection_by_memory
from analysis.recommend.service_levels import (
    MeasuredDurations,
    ServiceLevel,
    SloChance,
    measured_chance,
    predicted_chance,
)
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.results.series import UNKNOWN_SCOPE
from analysis.results.source import ArrowSource
from analysis.statistics.ratios import estimate
from orchestrator.commands.recommend.prices import PriceList
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
_MEMORY, _LATENCY = OBJECTIVES["memory"], OBJECTIVES["latency"]


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


@dataclass(frozen=True)
class CandidateSources:
    """The sources that candidates are known from."""

    results: ArrowSource
    selection: Selection
    """The results of the models that are asked about."""
    like: Selection
    """Results of any model, whose durations vary like those of a predicted cell."""
    models: Mapping[str, ModelSpec]
    forecaster: "Forecaster | None" = None
    prices: PriceList | None = None


def known_candidates(
    pairs: Sequence[tuple[Candidate, str | None]],
    sources: CandidateSources,
    requirements: Requirements,
) -> list[RankedCandidate | LeftOutCandidate]:
    """Each candidate with its figures, or with the first reason that speaks against it.

    Args:
        pairs: candidates with the reason why no release or model allows them.
        sources: where to look.
        requirements: what a choice must keep.
    """
    readings = _read(sources, requirements)
    objections = [
        Objection("unsupported", reason)
        if reason
        else readings.verdicts.objection(key_of_cell(candidate.cell), candidate.machine)
        for candidate, reason in pairs
    ]
    judged = list(zip((candidate for candidate, _ in pairs), objections, strict=True))
    possible = [candidate for candidate, objection in judged if objection is None]
    forecasts = _forecasts(possible, sources, readings, requirements)
    knowledge = _Knowledge(sources, requirements, readings, forecasts)
    return [
        LeftOutCandidate(candidate, objection) if objection else knowledge.of(candidate)
        for candidate, objection in judged
    ]


@dataclass(frozen=True)
class _Readings:
    """The results of a database, by cell and machine."""

    figures: Mapping[str, Mapping[PlacedCell, Figure]]
    """By metric."""
    verdicts: KnownVerdicts
    memory: Mapping[str, Sequence[MemoryResult]]
    """By machine."""
    latencies: Mapping[PlacedCell, MetricValue]
    durations: Mapping[str, MeasuredDurations]
    """By result."""
    variations: Mapping[tuple[str, str, str], Sequence[float]]
    scopes: Mapping[str, str]
    """The scope of joules, by machine; empty unless they are asked for."""


def _read(sources: CandidateSources, requirements: Requirements) -> _Readings:
    """Read what the requirements need; raw durations for a service level alone."""
    source, selection, level = sources.results, sources.selection, requirements.level
    objective = requirements.objective
    metrics = {objective.metric, _MEMORY.metric}
    values = {name: measured_values(source, selection, name) for name in sorted(metrics)}
    latencies: Mapping[PlacedCell, MetricValue] = {}
    if level:
        latencies = values.get(_LATENCY.metric) or measured_values(
            source, selection, _LATENCY.metric
        )
    return _Readings(
        {
            name: {key: measured_figure(value) for key, value in of.items()}
            for name, of in values.items()
        },
        known_verdicts(source, selection),
        memory_results(source, selection),
        latencies,
        measured_durations(source, latencies.values(), level) if level else {},
        variations(source, sources.like) if level else {},
        energy_scopes(source, sources.like) if METRICS[objective.metric].is_of_energy else {},
    )


def _forecasts(
    candidates: Sequence[Candidate],
    sources: CandidateSources,
    readings: _Readings,
    requirements: Requirements,
) -> Mapping[str, Forecasts]:
    """The forecasts of all that nobody measured and that is asked for, by metric."""
    targets: dict[str, tuple[Objective, Iterable[PlacedCell]]] = {
        one.metric: (one, readings.figures[one.metric]) for one in (requirements.objective, _MEMORY)
    }
    if requirements.level:
        targets[_LATENCY.metric] = (_LATENCY, readings.latencies)
    return {
        metric: forecast_candidates(
            [one for one in candidates if place_of(one) not in set(measured)],
            target,
            sources.forecaster,
            sources.models,
        )
        for metric, (target, measured) in targets.items()
    }


@dataclass(frozen=True)
class _Knowledge:
    sources: CandidateSources
    requirements: Requirements
    readings: _Readings
    forecasts: Mapping[str, Forecasts]
    _by_model: dict[tuple[str, str], list[MemoryResult]] = field(default_factory=dict)

    def of(self, candidate: Candidate) -> RankedCandidate | LeftOutCandidate:
        """A candidate that may be possible, with its figures or the reason against it."""
        requirements, price = self.requirements, self._price(candidate)
        known = self._figure(candidate, _MEMORY)
        memory = known if isinstance(known, Figure) else None
        results = self._memory_results(candidate)
        limit = requirements.memory_bytes
        if objection := objection_by_memory(candidate.cell, limit, results, memory):
            return LeftOutCandidate(candidate, objection)
        figure = self._figure(candidate, requirements.objective)
        if isinstance(figure, Figure) and requirements.objective.name == COST:
            figure = _cost(candidate, figure, price)
        if isinstance(figure, Objection):
            return LeftOutCandidate(candidate, figure)
        chance = None
        if level := requirements.level:
            chance = self._chance(candidate, level)
            if objection := objection_by_level(level, chance, requirements.confidence):
                return LeftOutCandidate(candidate, objection)
        return RankedCandidate(candidate, figure, memory, chance, price)

    def _figure(self, candidate: Candidate, target: Objective) -> Figure | Objection:
        """The measured figure, else the predicted one, else the reason."""
        placed = place_of(candidate)
        if measured := self.readings.figures[target.metric].get(placed):
            return measured
        predicted = self.forecasts[target.metric][placed]
        if isinstance(predicted, str):
            return Objection("not_known", predicted)
        if METRICS[target.metric].is_of_energy:
            scope = self.readings.scopes.get(candidate.machine.key, UNKNOWN_SCOPE)
            return replace(predicted, scope=scope)
        return predicted

    def _price(self, candidate: Candidate) -> float | None:
        if self.sources.prices is None:
            return None
        machine = candidate.machine
        names = (machine.name, machine.key, *sorted(machine.hosts))
        return self.sources.prices.per_hour(names, candidate.cell.backend)

    def _memory_results(self, candidate: Candidate) -> Sequence[MemoryResult]:
        machine, model = candidate.machine, candidate.cell.model
        key = (machine.key, model)
        if key not in self._by_model:
            took = self.readings.memory.get(machine.key, ())
            every = (*took, *self.readings.verdicts.out_of_memory(machine))
            self._by_model[key] = [one for one in every if one.cell.model == model]
        return self._by_model[key]

    def _chance(self, candidate: Candidate, level: ServiceLevel) -> SloChance:
        placed, cell = place_of(candidate), candidate.cell
        if value := self.readings.latencies.get(placed):
            return measured_chance(level, self.readings.durations[str(value.facts["result_id"])])
        predicted = self.forecasts[_LATENCY.metric][placed]
        if isinstance(predicted, str):
            return SloChance(None, predicted)
        path = (candidate.machine.key, cell.backend, cell.runtime)
        return predicted_chance(level, predicted, self.readings.variations.get(path, ()))


def _cost(candidate: Candidate, throughput: Figure, price: float | None) -> Figure | Objection:
    if price is None:
        backend = candidate.cell.backend
        return Objection(
            "no_price", f"no price of {candidate.machine.name} or of backend {backend}"
        )
    return cost_figure(throughput, price, candidate.cell)
