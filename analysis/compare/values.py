"""Values of one metric: each selected result with its number, facts and interval.

A record has intervals of medians and percentiles. A total per second follows from all durations,
so its interval is made here the same way: Student's t over the mean durations of the launches; with
one launch that of its durations, widened by what fresh processes differ by.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any, Literal, get_args

from analysis.results.metrics import PARTS_VIEW, PERFORMANCE_VIEW, Metric
from analysis.results.paired import paired_values
from analysis.results.selection import IS_OURS, Selection
from analysis.results.series import ASKED_THREADS, COMPARED, comparable_columns
from analysis.results.source import OWN_SOURCES, ArrowSource, text
from analysis.statistics.paired import PairedRatio
from analysis.statistics.ratios import Estimate, RatioOutcome, estimate, ratio_outcome
from runner.contract.axes import AXIS_NAMES, Mode
from runner.contract.confidence import GROWING_CONFIDENCE, INTERVAL_CONFIDENCE, students_t
from runner.contract.record.verdict import Grade

MACHINE_KEY = "machine"
"""The fact that tells machines apart: the host's id, else its name, else the file it came in."""
PART = "part"
"""The fact that tells apart what one result has several values of; null where it has one."""
_FACTS = (
    *("result_id", "run_id", "cell_id", "family", "hardware", "hostname", "cores", "profile"),
    *("grade", "quotable", "proof", "correct", "software_device", "rounds", "process_spread"),
    "measured_at",
)
_ASKED = rf"-t(\d+)(?:-w\d+)?-(?:{'|'.join(get_args(Mode))})"
ASKED_THREADS_COLUMN = (
    f"nullif(regexp_extract(r.cell_id, '{_ASKED}', 1), '')::BIGINT AS {ASKED_THREADS}"
)
_COLUMNS = ", ".join(
    ASKED_THREADS_COLUMN if name == ASKED_THREADS else f"r.{name}"
    for name in dict.fromkeys((*_FACTS, *AXIS_NAMES, *COMPARED))
)
_MANY = 10**6
"""Degrees of freedom at which Student's t is the normal distribution."""


@dataclass(frozen=True)
class ResultValue:
    """One result's value of a metric, with the facts of the result."""

    facts: Mapping[str, Any]
    value: float

    @property
    def cell_id(self) -> str:
        return str(self.facts["cell_id"])

    @property
    def result_id(self) -> str:
        return str(self.facts["result_id"])

    @property
    def grade(self) -> Grade:
        """The grade; D where nobody gave one."""
        grade: Grade = self.facts["grade"] or "D"
        return grade

    @property
    def is_imported(self) -> bool:
        return self.facts["source"] not in OWN_SOURCES

    @property
    def marks(self) -> tuple[str, ...]:
        return marks_of(self.facts)

    @property
    def refusal(self) -> str | None:
        """The code of why nothing is said of it beside others; None if it may be quoted."""
        return "imported" if self.is_imported else "unquotable" if self.marks else None


@dataclass(frozen=True)
class Replication:
    """The replication behind an interval."""

    of_starts: bool
    """True if a launch is a round of starts; else it is a process."""
    launches: int
    spread: Literal["default", "calibrated"] | None = None
    """The spread of processes that one launch was given; None for several, or without one."""
    deviation: float | None = None
    in_queue: bool = False
    """True if a queue multiplied it."""


@dataclass(frozen=True)
class MetricValue(ResultValue):
    """One result's value of a metric, with its interval."""

    interval: Estimate | None
    """The value with its 95 % interval; None if there is none."""
    basis: Replication | None = None
    pairs: Mapping[str, PairedRatio] = field(default_factory=dict)
    """The ratios of values to those of results that were measured side by side, by their ids."""

    @property
    def key(self) -> tuple[str, str | None]:
        return self.result_id, self.facts[PART]

    def pair_with(self, first: "MetricValue") -> PairedRatio | None:
        """The ratio to another by their rounds side by side; None where there were none."""
        return self.pairs.get(first.result_id) if self.pairs else None

    def ratio_to(self, first: "MetricValue") -> Estimate | None:
        """The ratio to another with its 95 % interval; None where one of both has none.

        It is that of their bursts where they were measured side by side.
        """
        if pair := self.pair_with(first):
            return pair.interval
        return self.interval.over(first.interval) if self.interval and first.interval else None

    def outcome_beside(self, first: "MetricValue", metric: Metric) -> RatioOutcome:
        if pair := self.pair_with(first):
            times = pair if metric.more_is_better else pair.inverse
            return times.outcome(metric.threshold, self.refusal or first.refusal)
        ratio = self.ratio_to(first)
        return ratio_outcome(
            ratio.inverse if ratio and not metric.more_is_better else ratio,
            *(max(self.grade, first.grade), metric.threshold),
            launches=[one.basis.launches for one in (self, first) if one.basis],
            refusal=self.refusal or first.refusal,
        )


def marks_of(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Words to print beside numbers that others measured, or that must not be quoted."""
    if facts["source"] not in OWN_SOURCES:
        return (f"measured by {facts['source']}",)
    wrong = ("outputs wrong",) if facts["correct"] is False else ()
    unproven = () if facts["proof"] == "proven" else (f"proof {facts['proof']}",)
    software = ("software in the device's place",) if facts.get("software_device") else ()
    return (*wrong, *unproven, *software)


@dataclass(frozen=True)
class SelectedValues:
    """The values of a metric among the selected results."""

    values: tuple[MetricValue, ...]
    without: int
    unquotable: int


def selected_values(source: ArrowSource, selection: Selection, metric: Metric) -> SelectedValues:
    """The selected results that have a value above 0, and how many have none."""
    values = metric_values(source, selection, metric)
    every = replace(selection, unquotable=True).relation
    unquotable = (
        "0"
        if selection.unquotable
        else f"(SELECT count(*) FROM {every} r WHERE NOT quotable AND {IS_OURS})"
    )
    (counts,) = source.arrow(f"""
        SELECT (SELECT count(*) FROM {selection.relation}) AS selected, {unquotable} AS unquotable
    """).to_pylist()
    results = {value.facts["result_id"] for value in values}
    return SelectedValues(values, counts["selected"] - len(results), counts["unquotable"])


@dataclass(frozen=True)
class MetricColumns:
    """The columns of a metric in SQL, where `r` is a row of the selected results."""

    beside: str
    """The join of its view; empty where the selected results have its column."""
    value: str
    low: str
    high: str
    part: str
    """`NULL` where a result has one value."""

    @classmethod
    def of(cls, metric: Metric) -> "MetricColumns":
        own = metric.view == PERFORMANCE_VIEW
        row = "r" if own else "v"
        low, high = (f"{row}.{name}" if name else "NULL" for name in (metric.low, metric.high))
        return cls(
            "" if own else f" JOIN {metric.view} v USING (result_id)",
            *(f"{row}.{metric.column}", low, high),
            f"v.{PART}" if metric.view == PARTS_VIEW else "NULL",
        )

    @property
    def selected(self) -> str:
        return f"""{self.part} AS {PART}, {self.value}::DOUBLE AS value,
            {self.low}::DOUBLE AS low, {self.high}::DOUBLE AS high"""


def metric_values(
    source: ArrowSource, selection: Selection, metric: Metric
) -> tuple[MetricValue, ...]:
    """The selected results above 0, by cell id and time, with the intervals of their records."""
    columns = MetricColumns.of(metric)
    sql = f"""
        SELECT {_COLUMNS}, coalesce(r.host, r.hostname, r.run_id) AS {MACHINE_KEY},
            {comparable_columns(metric)}, {columns.selected}
        FROM {selection.relation} r{columns.beside} WHERE {columns.value} > 0
        ORDER BY r.cell_id, r.measured_at, r.result_id, {PART}
    """
    return tuple(map(value_of, source.arrow(sql).to_pylist()))


def value_of(row: dict[str, Any]) -> MetricValue:
    """The value in a row with `MetricColumns.selected`, with the other columns as its facts."""
    value, low, high = (row.pop(name) for name in ("value", "low", "high"))
    return MetricValue(row, value, estimate(value, low, high))


_OF_PROCESSES = (
    *("result_id", "rounds", "process_spread", "process_spread_processes"),
    *("process_spread_degrees", "process_spread_queue"),
)
_SUM_AGREES = 0.01
"""Most by which the sum of durations may be off the steady time: in `server` queries overlap."""
_AT_ONCE = 5_000
_TIMES = {
    "query": "r.latency_median_{}s",
    "step": "r.latency_median_{}s",
    "prefill": "r.time_to_first_token_median_{}s",
    "decode": "r.time_per_output_token_median_{}s",
}
_PART_TIMES = ", ".join(
    f"'{part}': [{', '.join(column.format(end) for end in ('low_', '', 'high_'))}]"
    for part, column in _TIMES.items()
)
_MEANS = """
    list_transform(range(1, len(r.round_iterations) + 1), lambda number: list_avg(list_slice(
        w.durations_ns, coalesce(list_sum(r.round_iterations[:number - 1]), 0)::BIGINT + 1,
        list_sum(r.round_iterations[:number])::BIGINT)) / 1e9)
"""
_SUM_FITS = f"""(list_sum(r.round_iterations) = len(w.durations_ns)
    AND abs(list_sum(w.durations_ns) / 1e9 / r.steady_time_s - 1) <= {_SUM_AGREES})"""


def with_intervals(
    source: ArrowSource, values: Iterable[MetricValue], metric: Metric
) -> dict[tuple[str, str | None], MetricValue]:
    """The values by their keys, with their intervals; totals need the raw durations."""
    known = list(values)
    ids = sorted({value.result_id for value in known})
    rows: dict[str, Mapping[str, Any]] = {}
    for start in range(0, len(ids), _AT_ONCE):
        sql = _question(ids[start : start + _AT_ONCE], metric)
        rows |= {row["result_id"]: row for row in source.arrow(sql).to_pylist()}
    pairs: dict[str, dict[str, PairedRatio]] = defaultdict(dict)
    for (one, other), pair in paired_values(source, ids, metric).items():
        pairs[one][other] = pair
    return {
        value.key: replace(
            _completed(value, rows.get(value.result_id), metric), pairs=pairs[value.result_id]
        )
        for value in known
    }


def _question(ids: Sequence[str], metric: Metric) -> str:
    named = f"r.result_id IN ({', '.join(map(text, ids))})"
    columns = ", ".join(f"r.{name}" for name in _OF_PROCESSES)
    if metric.interval != "total":
        return f"""SELECT {columns}, {{{_PART_TIMES}}} AS times FROM benchmark_results r
            WHERE {named}"""
    return f"""
        SELECT {columns}, r.latency_mean_s, r.latency_stddev_s, r.effective_iterations,
            r.effective_rounds, r.round_degrees, CASE WHEN {_SUM_FITS} THEN {_MEANS} END AS means
        FROM benchmark_results r JOIN raw_benchmark_data w USING (result_id) WHERE {named}
    """


def _completed(value: MetricValue, row: Mapping[str, Any] | None, metric: Metric) -> MetricValue:
    if row is None:
        return value
    interval = value.interval
    if metric.interval == "total":
        interval = _of_total(value.value, row)
    elif metric.interval == "inverse":
        interval = _of_inverse(value, row["times"])
    return replace(value, interval=interval, basis=_basis(value, row) if interval else None)


def _of_total(value: float, row: Mapping[str, Any]) -> Estimate | None:
    """The interval of a total per second, from the relative error of the mean duration."""
    means = row["means"]
    if not means or None in means:
        return None
    error = _error_of_one(row)
    if len(means) > 1:
        # as wide as if launches had been added until it was narrow, which records do not tell
        rounds = row["effective_rounds"] or len(means)
        quantile = students_t(row["round_degrees"] or len(means) - 1, GROWING_CONFIDENCE)
        error = quantile * stdev(means) / math.sqrt(rounds) / fmean(means)
    if error is None:
        return None
    high = value / (1 - error) if error < 1 else value * (1 + error)
    return Estimate(value, value / (1 + error), high)


def _error_of_one(row: Mapping[str, Any]) -> float | None:
    """Half the interval of one launch's mean, by that mean: of its durations and of processes."""
    count, deviation = row["effective_iterations"], row["latency_stddev_s"]
    spread = row["process_spread"]
    if not count or count < 2 or deviation is None or spread is None:
        return None
    quantile = students_t(int(count) - 1, INTERVAL_CONFIDENCE)
    within = quantile * deviation / math.sqrt(count) / row["latency_mean_s"]
    degrees = spread_degrees(row["process_spread_degrees"])
    return math.hypot(within, students_t(degrees, INTERVAL_CONFIDENCE) * spread)


def _of_inverse(value: MetricValue, times: Mapping[str, Sequence[float | None]]) -> Estimate | None:
    if value.facts["scenario"] == "server":
        return None
    low, middle, high = times[value.facts[PART]]
    if not low or not middle or not high:
        return None
    return Estimate(value.value, value.value * middle / high, value.value * middle / low)


def _basis(value: MetricValue, row: Mapping[str, Any]) -> Replication:
    of_starts, launches = value.facts["mode"] == "startup", row["rounds"] or 1
    deviation = row["process_spread"]
    if launches > 1 or deviation is None:
        return Replication(of_starts, launches)
    is_default = row["process_spread_processes"] is None
    in_queue = bool(row["process_spread_queue"])
    return Replication(of_starts, 1, "default" if is_default else "calibrated", deviation, in_queue)


def spread_in_words(spread: float, *, in_queue: bool) -> str:
    """A relative spread of processes in percent, and whether a queue multiplied it."""
    return f"{100 * spread:.2g} %{' in this queue' if in_queue else ''}"


def spread_degrees(degrees: float | None) -> float:
    """The degrees of freedom of a recorded spread; at least one, and many for a default."""
    return _MANY if degrees is None else max(1.0, degrees)
