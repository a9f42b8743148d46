"""Values of one metric: each selected result with its number, interval and facts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from analysis.results.metrics import Metric
from analysis.results.selection import Selection
from analysis.results.series import ASKED_THREADS, COMPARED
from analysis.results.source import ArrowSource
from analysis.statistics.ratios import Estimate, estimate
from runner.contract.axes import Mode
from runner.contract.record import Grade

_FACTS = (
    *("result_id", "run_id", "cell_id", "family", "hardware", "hostname", "cores", "profile"),
    *("grade", "quotable", "proof", "correct", "rounds", "process_spread", "measured_at"),
)
_ASKED = rf"-t(\d+)(?:-w\d+)?-(?:{'|'.join(get_args(Mode))})"
_COLUMNS = ", ".join(
    f"nullif(regexp_extract(r.cell_id, '{_ASKED}', 1), '')::BIGINT AS {ASKED_THREADS}"
    if name == ASKED_THREADS
    else f"r.{name}"
    for name in dict.fromkeys((*_FACTS, *COMPARED))
)


@dataclass(frozen=True)
class MetricValue:
    """One result's value of a metric."""

    facts: Mapping[str, Any]
    """Columns of the result: what it is of, where it is from, how far it can be trusted."""
    value: float
    interval: Estimate | None
    """The value with its 95 % interval; None where the record holds none."""

    @property
    def cell_id(self) -> str:
        """The id of its cell."""
        return str(self.facts["cell_id"])

    @property
    def grade(self) -> Grade:
        """The grade; D where nobody gave one."""
        grade: Grade = self.facts["grade"] or "D"
        return grade

    @property
    def marks(self) -> tuple[str, ...]:
        """Words to print beside the number: others measured it, or it must not be quoted."""
        facts = self.facts
        if facts["source"] not in {"accelmatrix", "synthetic"}:
            return (f"measured by {facts['source']}",)
        wrong = ("outputs wrong",) if facts["correct"] is False else ()
        unproven = () if facts["proof"] == "proven" else (f"proof {facts['proof']}",)
        return (*wrong, *unproven)


def metric_values(
    source: ArrowSource, selection: Selection, metric: Metric
) -> tuple[MetricValue, ...]:
    """The selected results that have a value above 0, by cell id and time."""
    low, high = (f"v.{name}" if name else "NULL" for name in (metric.low, metric.high))
    own = metric.view == "benchmark_performance"
    beside = "" if own else f" JOIN {metric.view} v USING (result_id)"
    sql = f"""
        SELECT {_COLUMNS}, v.{metric.column}::DOUBLE AS value,
            {low}::DOUBLE AS low, {high}::DOUBLE AS high
        FROM {selection.relation} r{beside} WHERE v.{metric.column} > 0
        ORDER BY r.cell_id, r.measured_at, r.result_id
    """
    rows = source.arrow(sql.replace("v.", "r.") if own else sql).to_pylist()
    return tuple(map(_value, rows))


def _value(row: dict[str, Any]) -> MetricValue:
    value, low, high = (row.pop(name) for name in ("value", "low", "high"))
    return MetricValue(row, value, estimate(value, low, high))
