"""Candidates: cells on machines, of which one is to be chosen, and why others are left out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from analysis.results.metrics import METRICS
from analysis.results.series import ASKED_THREADS
from analysis.statistics.paired import PairedRatio
from analysis.statistics.ratios import THRESHOLD, Estimate, RatioOutcome, is_within, ratio_outcome
from runner.contract.axes import AXIS_NAMES, AxisName
from runner.contract.cell import Cell
from runner.contract.record.verdict import Grade

CHOSEN_AXES: tuple[AxisName, ...] = (
    *("backend", "runtime", "precision", "batch_size"),
    "training_precision",
)
"""The axes that a recommendation chooses; the others are the question."""
ObjectionKind: TypeAlias = Literal[
    "unsupported",
    "wrong",
    "failed",
    "out_of_memory",
    "does_not_fit",
    "fit_unknown",
    "too_slow",
    "slo_unknown",
    "no_price",
    "other_scope",
    "other_settings",
    "not_known",
]
OBJECTIONS: Mapping[ObjectionKind, str] = {
    "wrong": "outputs or device not right, as measured",
    "failed": "failed, as measured",
    "out_of_memory": "out of memory, as measured",
    "does_not_fit": "does not fit",
    "fit_unknown": "not known whether it fits",
    "too_slow": "too slow",
    "slo_unknown": "not known whether fast enough",
    "no_price": "no price",
    "other_scope": "another energy scope",
    "other_settings": "other settings",
    "not_known": "neither measured nor predicted",
    "unsupported": "not supported",
}
"""The kinds of reasons in words, those first that measurements or limits tell."""
CellKey: TypeAlias = tuple[Any, ...]
_UNSAID: Mapping[str, str] = {"mode": "inference", "scenario": "single_stream"}


@dataclass(frozen=True)
class CandidateMachine:
    """A machine that candidates may run on."""

    key: str
    """The id of the machine with its device; the device's name where nobody knows one."""
    name: str
    backends: tuple[str, ...]
    hosts: frozenset[str] = frozenset()
    hostname: str | None = None
    """One of these names."""


@dataclass(frozen=True)
class Candidate:
    """A cell on a machine."""

    cell: Cell
    machine: CandidateMachine


@dataclass(frozen=True)
class Objection:
    """A reason against a candidate."""

    kind: ObjectionKind
    reason: str
    """A sentence without a full stop; it tells by how much, where there is a number."""


def key_of_cell(cell: Cell) -> CellKey:
    """The values of all axes, by which results of this cell are recognised."""
    return tuple(getattr(cell, name) for name in AXIS_NAMES)


def key_of_facts(facts: Mapping[str, Any]) -> CellKey:
    """The same of a result; imported files without mode or scenario mean plain forward passes."""
    names = (ASKED_THREADS if name == "threads" else name for name in AXIS_NAMES)
    return tuple(facts[name] or _UNSAID.get(name) for name in names)


def question_of(cell: Cell) -> CellKey:
    """The values of the axes that are asked about: candidates with the same ones compete."""
    return tuple(getattr(cell, name) for name in AXIS_NAMES if name not in CHOSEN_AXES)


def path_of(candidate: Candidate) -> tuple[str, str, str, str]:
    """Everything that is chosen but for the batch: machine, backend, runtime and precision."""
    cell = candidate.cell
    return (candidate.machine.key, cell.backend, cell.runtime, cell.precision)


def is_no_faster(one: Candidate, other: Candidate) -> bool:
    """True for the same candidate with a larger batch, whose queries are no shorter."""
    paths = [question_of(of.cell) + path_of(of) for of in (one, other)]
    return one.cell.batch_size > other.cell.batch_size and paths[0] == paths[1]


Basis: TypeAlias = Literal["measured", "predicted"]
WORST_GRADE: Grade = "D"
MILLION = 1_000_000
_SECONDS_PER_HOUR = 3600
COST = "cost"


@dataclass(frozen=True)
class Figure:
    """A number of a candidate, in customary units, with its interval."""

    value: float
    """Above 0."""
    interval: Estimate | None
    """The value with its interval: at 95 % where it was measured, at 90 % where it is predicted;
    None if there is none, as of memory that was measured."""
    basis: Basis
    grade: Grade | None = None
    """The grade of what was measured; None of what is predicted."""
    marks: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    """Parts of the question outside of what was measured; empty where the interval holds."""
    scope: str | None = None
    """The scope of joules, or that it is unknown; None of other numbers."""
    settings: str | None = None
    """The settings that an imported file tells; None where nothing does."""
    launches: int | None = None
    """Those behind the interval of what was measured."""
    result_id: str | None = None
    pairs: Mapping[str, PairedRatio] = field(default_factory=dict)
    """Times as good as others that were measured side by side with it, by the ids of their results.
    """
    price: float | None = None
    """Of an hour, where it is a cost."""

    @property
    def is_measured(self) -> bool:
        return self.basis == "measured"

    @property
    def high(self) -> float:
        """The upper end of the interval, or the value where there is none."""
        return self.interval.high if self.interval else self.value

    @property
    def times(self) -> Estimate | None:
        alone = Estimate(self.value, self.value, self.value) if self.is_measured else None
        return self.interval or alone

    def changed(self, change: Callable[[float], float]) -> "Figure":
        """The figure of what follows from this one, be it growing or falling with it."""
        interval = None
        if self.interval:
            ends = sorted(map(change, (self.interval.low, self.interval.high)))
            interval = Estimate(change(self.interval.value), *ends)
        return replace(self, value=change(self.value), interval=interval)


def figure_outcome(one: Figure, other: Figure, *, more_is_better: bool) -> RatioOutcome:
    """The outcome of one figure by another.

    Results that were measured side by side need no grade. Beside a prediction the interval of their
    ratio must leave out 1. An extrapolation decides nothing, and neither does a measurement of
    grade D.
    """
    if one.outside or other.outside:
        return RatioOutcome("undecided", "extrapolated")
    if one.price == other.price and (pair := one.pairs.get(other.result_id or "")):
        return pair.outcome()
    return _outcome_apart(one, other, more_is_better=more_is_better)


def _outcome_apart(one: Figure, other: Figure, *, more_is_better: bool) -> RatioOutcome:
    measured = [figure for figure in (one, other) if figure.is_measured]
    first, second = one.times, other.times
    if (len(measured) == 2 and not (one.interval and other.interval)) or not (first and second):
        return RatioOutcome("undecided", "no_interval")
    times = first.over(second) if more_is_better else second.over(first)
    grade: Grade = max((one.grade or WORST_GRADE for one in measured if one.interval), default="A")
    if len(measured) == 2 or grade == WORST_GRADE:
        return ratio_outcome(times, grade, launches=(one.launches, other.launches))
    if is_within(times, THRESHOLD):
        return RatioOutcome("equal")
    if times.low <= 1 <= times.high:
        return RatioOutcome("undecided", "predicted")
    return RatioOutcome("better" if times.value > 1 else "worse")


@dataclass(frozen=True)
class Objective:
    """A number that candidates are ranked by."""

    name: str
    metric: str
    """The metric of results, and the target of predictors, that it follows from."""
    label: str
    unit: str
    scale: float
    """The metric's customary unit by the base unit of predictions."""
    best: str
    more_is_better: bool = False


def _of_metric(name: str, scale: float, best: str) -> Objective:
    metric = METRICS[name]
    return Objective(name, name, metric.label, metric.unit, scale, best, metric.more_is_better)


OBJECTIVES: Mapping[str, Objective] = {
    objective.name: objective
    for objective in (
        _of_metric("latency", 1e3, "fastest"),
        _of_metric("throughput", 1.0, "highest throughput"),
        _of_metric("memory", 1e-6, "least memory"),
        _of_metric("energy", 1.0, "least energy"),
        Objective(COST, "throughput", "cost", "", 1.0, "cheapest"),
    )
}
"""By name. A cost follows from throughput and a price per hour."""


def cost_figure(throughput: Figure, per_hour: float, cell: Cell) -> Figure:
    """The cost of a million samples, or new tokens, by samples per second and a price per hour."""
    things = cell.new_tokens or 1
    cost = throughput.changed(lambda rate: per_hour / _SECONDS_PER_HOUR / (rate * things) * MILLION)
    return replace(cost, price=per_hour)


def cost_unit(currency: str, cell: Cell) -> str:
    """The unit of costs, e.g. `EUR per million samples`."""
    return f"{currency} per million {'tokens' if cell.new_tokens else 'samples'}"
