"""Known candidates: what a database, a predictor and prices tell of cells on machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from analysis.compare.values import MetricValue
from analysis.predict.novelty import NAMED_NOVELTIES
from analysis.recommend.candidates import (
    COST,
    OBJECTIVES,
    Candidate,
    Figure,
    Objection,
    Objective,
    cost_figure,
    key_of_cell,
)
from analysis.recommend.choices import (
    LeftOutCandidate,
    RankedCandidate,
    Requirements,
    objection_by_level,
)
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
    from analysis.predict.forecaster import Forecaster
    from analysis.predict.predictor import NoPrediction, Prediction, TargetPredictor


LEAST_GROUPS = 10
Forecasts = Mapping[PlacedCell, Figure | str]
"""By cell and machine a predicted figure, or the reason why there is none."""
_MEMORY, _LATENCY = OBJECTIVES["memory"], OBJECTIVES["latency"]


@dataclass(frozen=True)
class CandidateKnowledge:
    """The sources that candidates are known from; each is read when it is needed first."""

    requirements: Requirements
    results: ArrowSource
    selection: Selection
    like: Selection
    """Results of any model, whose durations vary like those of a predicted cell."""
    models: Mapping[str, ModelSpec]
    forecaster: "Forecaster | None" = None
    prices: PriceList | None = None
    _by_model: dict[tuple[str, str], list[MemoryResult]] = field(default_factory=dict)

    def judge(
        self, pairs: Sequence[tuple[Candidate, str | None]]
    ) -> list[RankedCandidate | LeftOutCandidate]:
        """Each candidate with figures, or the first reason against it, which it may come with."""
        objections = [
            Objection("unsupported", reason)
            if reason
            else self._verdicts.objection(key_of_cell(candidate.cell), candidate.machine)
            for candidate, reason in pairs
        ]
        judged = list(zip((candidate for candidate, _ in pairs), objections, strict=True))
        possible = [candidate for candidate, objection in judged if objection is None]
        level = [_LATENCY] if self.requirements.level else []
        forecasts = {
            target.metric: self._forecasts(target, possible)
            for target in (self.requirements.objective, _MEMORY, *level)
        }
        return [
            LeftOutCandidate(candidate, objection)
            if objection
            else self._judged(candidate, forecasts)
            for candidate, objection in judged
        ]

    @cached_property
    def _verdicts(self) -> KnownVerdicts:
        return known_verdicts(self.results, self.selection)

    @cached_property
    def _values(self) -> Mapping[str, Mapping[PlacedCell, MetricValue]]:
        level = {_LATENCY.metric} if self.requirements.level else set()
        metrics = {self.requirements.objective.metric, _MEMORY.metric} | level
        return {name: measured_values(self.results, self.selection, name) for name in metrics}

    @cached_property
    def _memory(self) -> Mapping[str, Sequence[MemoryResult]]:
        return memory_results(self.results, self.selection)

    @cached_property
    def _durations(self) -> Mapping[str, MeasuredDurations]:
        values, level = self._values[_LATENCY.metric].values(), self.requirements.level
        return measured_durations(self.results, values, level) if level else {}

    @cached_property
    def _variations(self) -> Mapping[tuple[str, str, str], Sequence[float]]:
        return variations(self.results, self.like)

    @cached_property
    def _scopes(self) -> Mapping[str, str]:
        return energy_scopes(self.results, self.like)

    def _forecasts(self, target: Objective, candidates: Sequence[Candidate]) -> Forecasts:
        measured, forecaster = self._values[target.metric], self.forecaster
        unknown = [one for one in candidates if _place(one) not in measured]
        if forecaster is None:
            return dict.fromkeys(map(_place, unknown), "there is no predictor to ask")
        predictor = forecaster.predictors.get(target.metric)
        if predictor is None:
            reason = f"too little was measured to predict {target.label}"
            return dict.fromkeys(map(_place, unknown), reason)
        reason = "the predictor was trained without this machine"
        forecasts: dict[PlacedCell, Figure | str] = dict.fromkeys(map(_place, unknown), reason)
        for machine in forecaster.machines:
            here = [one for one in unknown if one.machine.key == machine.key]
            if not here:
                continue
            cells = [one.cell for one in here]
            answers = forecaster.forecast(cells, self.models, target.metric, machine)
            for one, answer in zip(here, answers, strict=True):
                forecasts[_place(one)] = _predicted_figure(answer, target, predictor)
        return forecasts

    def _judged(
        self, candidate: Candidate, forecasts: Mapping[str, Forecasts]
    ) -> RankedCandidate | LeftOutCandidate:
        requirements, price = self.requirements, self._price(candidate)
        known = self._figure(candidate, _MEMORY, forecasts)
        memory = known if isinstance(known, Figure) else None
        results = self._memory_results(candidate)
        limit = requirements.memory_bytes
        if objection := objection_by_memory(candidate.cell, limit, results, memory):
            return LeftOutCandidate(candidate, objection)
        figure = self._figure(candidate, requirements.objective, forecasts)
        if isinstance(figure, Figure) and requirements.objective.name == COST:
            where = f"{candidate.machine.name} or of backend {candidate.cell.backend}"
            unknown = Objection("no_price", f"no price of {where}")
            figure = cost_figure(figure, price, candidate.cell) if price else unknown
        if isinstance(figure, Objection):
            return LeftOutCandidate(candidate, figure)
        chance = None
        if level := requirements.level:
            chance = self._chance(candidate, level, forecasts)
            if objection := objection_by_level(level, chance, requirements.confidence):
                return LeftOutCandidate(candidate, objection)
        return RankedCandidate(candidate, figure, memory, chance, price)

    def _figure(
        self, candidate: Candidate, target: Objective, forecasts: Mapping[str, Forecasts]
    ) -> Figure | Objection:
        """The measured figure, else the predicted one, else the reason."""
        placed = _place(candidate)
        if measured := self._values[target.metric].get(placed):
            return measured_figure(measured, METRICS[target.metric])
        predicted = forecasts[target.metric][placed]
        if isinstance(predicted, str):
            return Objection("not_known", predicted)
        if METRICS[target.metric].is_of_energy:
            return replace(predicted, scope=self._scopes.get(candidate.machine.key, UNKNOWN_SCOPE))
        return predicted

    def _price(self, candidate: Candidate) -> float | None:
        if self.prices is None:
            return None
        machine = candidate.machine
        names = (machine.name, machine.key, *sorted(machine.hosts))
        return self.prices.per_hour(names, candidate.cell.backend)

    def _memory_results(self, candidate: Candidate) -> Sequence[MemoryResult]:
        machine, model = candidate.machine, candidate.cell.model
        key = (machine.key, model)
        if key not in self._by_model:
            every = (*self._memory.get(machine.key, ()), *self._verdicts.out_of_memory(machine))
            self._by_model[key] = [one for one in every if one.cell.model == model]
        return self._by_model[key]

    def _chance(
        self, candidate: Candidate, level: ServiceLevel, forecasts: Mapping[str, Forecasts]
    ) -> SloChance:
        placed, cell = _place(candidate), candidate.cell
        if value := self._values[_LATENCY.metric].get(placed):
            return measured_chance(level, self._durations[str(value.facts["result_id"])])
        predicted = forecasts[_LATENCY.metric][placed]
        if isinstance(predicted, str):
            return SloChance(None, predicted)
        path = (candidate.machine.key, cell.backend, cell.runtime)
        return predicted_chance(level, predicted, self._variations.get(path, ()))


def _place(candidate: Candidate) -> PlacedCell:
    return key_of_cell(candidate.cell), candidate.machine.key


def _predicted_figure(
    answer: "Prediction | NoPrediction", target: Objective, predictor: "TargetPredictor"
) -> Figure | str:
    """A prediction in customary units, or the reason why there is none."""
    from analysis.predict.predictor import NoPrediction

    if isinstance(answer, NoPrediction):
        return answer.reason
    value, low, high = (target.scale * end for end in (answer.value, answer.low, answer.high))
    outside = answer.outside
    calibration = predictor.calibration(answer.novelty)
    # Memory is promised, so an interval that few groups tell is none.
    if target.name == "memory" and calibration and calibration.groups < LEAST_GROUPS:
        count = f"{calibration.groups} {NAMED_NOVELTIES[calibration.novelty].groups}"
        outside = (*outside, f"its errors are known from {count} alone, not {LEAST_GROUPS}")
    return Figure(value, estimate(value, low, high), "predicted", outside=outside)
