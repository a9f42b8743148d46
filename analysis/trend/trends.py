"""Trends: the series of the selected results that were measured more than once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeAlias

from analysis.compare.circumstances import circumstance_changes, circumstances_of
from analysis.compare.intervals import key_of, with_intervals
from analysis.compare.values import PART, MetricValue
from analysis.regress.judgements import THRESHOLD
from analysis.regress.launches import LEAST_HISTORY, PastResult, launches_by_result
from analysis.regress.steps import levels_of
from analysis.results.comparability import comparable_sql
from analysis.results.metrics import Metric
from analysis.results.selection import Selection
from analysis.results.series import IN_HISTORY, SERIES
from analysis.results.source import ArrowSource
from analysis.statistics.ratios import estimate
from analysis.trend.series import TrendSeries, TrendStep, greatest_first, neighbour_steps
from runner.contract.axes import AXIS_NAMES
from runner.contract.errors import UsageError


def level_steps(
    values: Sequence[MetricValue], history: Sequence[PastResult]
) -> tuple[TrendStep, ...]:
    """The steps of a series, the greatest first.

    Args:
        values: its results in the order of time.
        history: the launches of each of them.
    """
    indices = {past.result_id: index for index, past in enumerate(history)}
    firsts = [
        (indices[step.first.result_id], step.ratio)
        for step in levels_of(history, {}, THRESHOLD).steps
    ]
    return greatest_first(
        TrendStep(values[index - 1], values[index], ratio) for index, ratio in firsts
    )


_FindSteps: TypeAlias = Callable[
    [Sequence[MetricValue], Sequence[PastResult]], tuple[TrendStep, ...]
]


def with_steps(
    source: ArrowSource,
    selection: Selection,
    metric: Metric,
    several: Sequence[Sequence[MetricValue]],
) -> list[TrendSeries]:
    """The series with their steps.

    Those of a series with `LEAST_HISTORY` launches are its change points, if the extra `analysis`
    is there; others are neighbours that differ.

    Args:
        source: the database.
        selection: the results that the series are of.
        metric: the metric.
        several: the results of each series in the order of time.
    """
    cells = {values[0].cell_id for values in several if is_long(values)}
    find = _level_steps() if cells else None
    launches = launches_by_result(source, selection, metric, cells) if find else {}
    return [
        _series(metric, values, find, [launches.get(key_of(value)) for value in values])
        for values in several
    ]


def is_long(values: Sequence[MetricValue]) -> bool:
    """True if a series has launches enough for change points."""
    return sum(value.facts["rounds"] or 1 for value in values) >= LEAST_HISTORY


def _series(
    metric: Metric,
    values: Sequence[MetricValue],
    find: _FindSteps | None,
    launches: Sequence[PastResult | None],
) -> TrendSeries:
    history = [past for past in launches if past is not None]
    if find is None or len(history) < len(values) or not is_long(values):
        return TrendSeries(metric, tuple(values), neighbour_steps(values))
    return TrendSeries(metric, tuple(values), find(values, history), by_level=True)


def _level_steps() -> _FindSteps | None:
    """The search for change points; None where the extra `analysis` is not installed."""
    try:
        pass
    except UsageError:
        return None
    return level_steps


MOST_SERIES = 1_000
"""Series that are read, those with the greatest change first; others are counted."""
_FACTS = (
    *("cell_id", "source", "family", *(name for name in AXIS_NAMES if name != "threads")),
    *("result_id", "run_id", "hostname", "hardware", "cores", "profile", "grade", "proof"),
    *("correct", "rounds", "measured_at", "git_commit"),
)


@dataclass(frozen=True)
class Trends:
    """A metric over time."""

    metric: Metric
    series: tuple[TrendSeries, ...]
    """Those that were measured at least twice, the greatest change first."""
    left_out: int
    """Series with less change than these, beyond the number that is read."""
    once: int
    """Series with one result, which show nothing over time."""
    per_host: bool
    """True if each name of a machine has series of its own."""

    @property
    def without_levels(self) -> int:
        """Series with launches enough for change points whose steps are those of neighbours."""
        return sum(is_long(one.values) and not one.by_level for one in self.series)


def trends_of(
    source: ArrowSource, selection: Selection, metric: Metric, *, per_host: bool = False
) -> Trends:
    """The series of the selected results.

    The results of a series agree in cell, weights, device and launcher; a machine's name is no part
    of it unless `per_host` says so, since that of a CI changes with every run.

    Args:
        source: the database.
        selection: the results, older ones included.
        metric: the metric.
        per_host: True if machines with different names have series of their own.
    """
    rows = source.arrow(_question(selection, metric, per_host=per_host)).to_pylist()
    counts = {name: rows[0][name] if rows else 0 for name in ("once", "several")}
    repeated = [row for row in rows if row["results"] > 1]
    ranked = groupby(repeated, key=lambda row: row["rank"])
    values = [[_value(row) for row in several] for _, several in ranked]
    complete = with_intervals(source, [one for series in values for one in series], metric)
    completed = [[complete[key_of(one)] for one in results] for results in values]
    stepped = with_steps(source, selection, metric, completed)
    left_out = counts["several"] - len(stepped)
    return Trends(metric, _explained(source, stepped), left_out, counts["once"], per_host)


def _question(selection: Selection, metric: Metric, *, per_host: bool) -> str:
    """The results of the series that are read, in their order; all series are counted.

    Few columns choose them, the rest is read later.
    """
    own = metric.view == "benchmark_performance"
    beside = "" if own else f" JOIN {metric.view} v USING (result_id)"
    table = "r" if own else "v"
    part = f"v.{PART}" if metric.view == "efficiency" else "NULL"
    low, high = (f"{table}.{name}" if name else "NULL" for name in (metric.low, metric.high))
    names = (*SERIES, "hostname") if per_host else SERIES
    keys = ", ".join((*(f"r.{name}" for name in names), *comparable_sql(metric).values()))
    value = f"{table}.{metric.column}"
    results = f"{selection.relation} r{beside}"
    has_value = f"{value} > 0 AND r.measured_at IS NOT NULL AND {IN_HISTORY}"
    facts = ", ".join(f"r.{name}" for name in _FACTS)
    return f"""
        WITH ranked AS (
            SELECT *, row_number() OVER (ORDER BY results > 1 DESC, change DESC, key, part) AS rank,
                count(*) FILTER (results = 1) OVER () AS once,
                count(*) FILTER (results > 1) OVER () AS several
            FROM (
                SELECT key, part, count(*) AS results,
                    abs(ln(arg_max(value, moment) / arg_min(value, moment))) AS change
                FROM (
                    SELECT hash({keys}) AS key, {part} AS part, {value}::DOUBLE AS value,
                        (r.measured_at, r.result_id) AS moment
                    FROM {results} WHERE {has_value}
                ) GROUP BY key, part
            ) QUALIFY rank <= {MOST_SERIES}
        )
        SELECT ranked.rank, ranked.once, ranked.several, ranked.results, {facts},
            {part} AS {PART}, {value}::DOUBLE AS value, {low}::DOUBLE AS low, {high}::DOUBLE AS high
        FROM {results} JOIN ranked
            ON ranked.key = hash({keys}) AND ranked.part IS NOT DISTINCT FROM {part}
        WHERE {has_value}
        ORDER BY ranked.rank, r.measured_at, r.result_id
    """


def _value(row: dict[str, Any]) -> MetricValue:
    value, low, high = (row.pop(name) for name in ("value", "low", "high"))
    return MetricValue(row, value, estimate(value, low, high))


def _explained(source: ArrowSource, series: Sequence[TrendSeries]) -> tuple[TrendSeries, ...]:
    """The series, each step with what changed along with it."""
    ends = (end for one in series for step in one.steps for end in (step.before, step.after))
    ids = sorted({str(value.facts["result_id"]) for value in ends})
    facts = circumstances_of(source, ids)

    def explained(step: TrendStep) -> TrendStep:
        then, now = (facts.get(str(one.facts["result_id"])) for one in (step.before, step.after))
        return replace(step, changes=circumstance_changes(then, now) if then and now else ())

    return tuple(replace(one, steps=tuple(map(explained, one.steps))) for one in series)
