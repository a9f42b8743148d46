"""Values of one metric: each selected result with its number, interval and facts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from analysis.results.comparability import comparable_columns
from analysis.results.metrics import Metric
from analysis.results.selection import IS_OURS, Selection
from analysis.results.series import ASKED_THREADS, COMPARED
from analysis.results.source import OWN_SOURCES, ArrowSource
from analysis.statistics.ratios import Estimate, estimate
from runner.contract.axes import AXIS_NAMES, Mode
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
"""The column, where `r` is a row with a cell's id."""
_COLUMNS = ", ".join(
    ASKED_THREADS_COLUMN if name == ASKED_THREADS else f"r.{name}"
    for name in dict.fromkeys((*_FACTS, *AXIS_NAMES, *COMPARED))
)
_OWN = "benchmark_performance"
_OF_PARTS = "efficiency"
"""The view that has a row for each part of a result."""


@dataclass(frozen=True)
class ResultValue:
    """One result's value of a metric, with the facts of the result."""

    facts: Mapping[str, Any]
    """Columns of the result: what it is of, where it is from, how far it can be trusted."""
    value: float

    @property
    def cell_id(self) -> str:
        return str(self.facts["cell_id"])

    @property
    def grade(self) -> Grade:
        """The grade; D where nobody gave one."""
        grade: Grade = self.facts["grade"] or "D"
        return grade

    @property
    def is_imported(self) -> bool:
        """True if somebody else measured it."""
        return self.facts["source"] not in OWN_SOURCES

    @property
    def marks(self) -> tuple[str, ...]:
        """Words to print beside the number: others measured it, or it must not be quoted."""
        return marks_of(self.facts)


@dataclass(frozen=True)
class Replication:
    """The replication behind an interval."""

    of_starts: bool
    """True if a launch is a round of starts; else it is a process."""
    launches: int
    spread: Literal["default", "calibrated"] | None = None
    """The spread of processes that one launch was given; None for several, or without one."""
    deviation: float | None = None
    """That spread, relative."""
    in_queue: bool = False
    """True if a queue multiplied it."""


@dataclass(frozen=True)
class MetricValue(ResultValue):
    """One result's value of a metric, with its interval."""

    interval: Estimate | None
    """The value with its 95 % interval; None where nothing tells one."""
    basis: Replication | None = None
    """The replication behind the interval; None without one."""


def marks_of(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Words to print beside numbers of a result that others measured, or that must not be quoted.

    Args:
        facts: its columns `source`, `correct`, `proof`, and `software_device` if known.
    """
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
    """Those above 0, by cell id and time."""
    without: int
    """Selected results that have no value."""
    unquotable: int
    """Results left out because they must not be quoted."""


def selected_values(source: ArrowSource, selection: Selection, metric: Metric) -> SelectedValues:
    """The selected results that have a value above 0, and how many have none."""
    values = metric_values(source, selection, metric)
    sql = f"""
        SELECT (SELECT count(*) FROM {selection.relation}) AS selected,
            {_unquotable(selection)} AS unquotable
    """
    (counts,) = source.arrow(sql).to_pylist()
    results = {value.facts["result_id"] for value in values}
    return SelectedValues(values, counts["selected"] - len(results), counts["unquotable"])


def metric_values(
    source: ArrowSource, selection: Selection, metric: Metric
) -> tuple[MetricValue, ...]:
    """The selected results that have a value above 0, by cell id and time.

    Their intervals are those of the records.
    """
    is_own = metric.view == _OWN
    alias, beside = ("r", "") if is_own else ("v", f" JOIN {metric.view} v USING (result_id)")
    low, high = (f"{alias}.{name}" if name else "NULL" for name in (metric.low, metric.high))
    part = f"{alias}.{PART}" if metric.view == _OF_PARTS else "NULL"
    sql = f"""
        SELECT {_COLUMNS}, coalesce(r.host, r.hostname, r.run_id) AS {MACHINE_KEY},
            {part} AS {PART}, {comparable_columns(metric)},
            {alias}.{metric.column}::DOUBLE AS value, {low}::DOUBLE AS low, {high}::DOUBLE AS high
        FROM {selection.relation} r{beside} WHERE {alias}.{metric.column} > 0
        ORDER BY r.cell_id, r.measured_at, r.result_id, {PART}
    """
    return tuple(map(_value, source.arrow(sql).to_pylist()))


def _value(row: dict[str, Any]) -> MetricValue:
    value, low, high = (row.pop(name) for name in ("value", "low", "high"))
    return MetricValue(row, value, estimate(value, low, high))


def _unquotable(selection: Selection) -> str:
    """The number of results of the same selection that only `--all` shows, as an expression."""
    if selection.unquotable:
        return "0"
    every = selection.with_unquotable().relation
    return f"(SELECT count(*) FROM {every} r WHERE NOT quotable AND {IS_OURS})"
