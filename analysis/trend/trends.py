"""Trends: the series of the selected results that were measured more than once, and their steps."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

from analysis.compare.circumstances import circumstance_changes, circumstances_of
from analysis.compare.values import MetricColumns, MetricValue, value_of, with_intervals
from analysis.regress.launches import LEAST_HISTORY, PastResult, launches_by_result
from analysis.results.metrics import Metric
from analysis.results.selection import Selection
from analysis.results.series import IN_HISTORY, SERIES, comparable_sql
from analysis.results.source import ArrowSource
from analysis.statistics.ratios import THRESHOLD, Estimate, RatioOutcome
from runner.contract.axes import AXIS_NAMES
from runner.contract.errors import UsageError

MOST_SERIES = 1_000
"""Series that are read, those with the greatest change first; others are counted."""
_FACTS = (
    *("cell_id", "source", "family", *(name for name in AXIS_NAMES if name != "threads")),
    *("result_id", "run_id", "hostname", "hardware", "cores", "profile", "grade", "proof"),
    *("correct", "rounds", "measured_at", "git_commit"),
)


@dataclass(frozen=True)
class TrendStep:
    """A change of a series: the last result before it and the first one behind."""

    before: MetricValue
    after: MetricValue
    ratio: Estimate
    changes: tuple[str, ...] | None = None
    """Differences of image, commit, libraries and machine between them; None until looked up."""


@dataclass(frozen=True)
class TrendSeries:
    """The results of one series that have a value, at least two, in their order of time."""

    metric: Metric
    values: tuple[MetricValue, ...]
    steps: tuple[TrendStep, ...] = ()
    """The greatest first."""
    by_level: bool = False
    """True if they are change points of its launches; False if they are neighbours that differ."""

    @property
    def cell_id(self) -> str:
        return self.first.cell_id

    @property
    def first(self) -> MetricValue:
        return self.values[0]

    @property
    def last(self) -> MetricValue:
        return self.values[-1]

    @cached_property
    def best(self) -> MetricValue:
        sign = -1 if self.metric.more_is_better else 1
        return min(self.values, key=lambda one: sign * one.value)

    @property
    def ratio(self) -> float:
        return self.last.value / self.first.value

    @cached_property
    def interval(self) -> Estimate | None:
        """That ratio with its 95 % interval; None where one of both has none."""
        return self.last.ratio_to(self.first)

    @cached_property
    def outcome(self) -> RatioOutcome:
        return self.last.outcome_beside(self.first, self.metric)

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.last.facts

    @property
    def is_long(self) -> bool:
        return sum(value.facts["rounds"] or 1 for value in self.values) >= LEAST_HISTORY


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

    @property
    def without_levels(self) -> int:
        """Series with launches enough for change points whose steps are those of neighbours."""
        return sum(one.is_long and not one.by_level for one in self.series)


def trends_of(
    source: ArrowSource, selection: Selection, metric: Metric, *, per_host: bool = False
) -> Trends:
    """The series of the selected results; the name of a CI's machine changes with every run."""
    metric = replace(metric, threshold=selection.threshold)
    rows = source.arrow(_question(selection, metric, per_host=per_host)).to_pylist()
    counts = {name: rows[0][name] if rows else 0 for name in ("once", "several")}
    ranked = groupby([row for row in rows if row["results"] > 1], key=lambda row: row["rank"])
    values = [[value_of(row) for row in several] for _, several in ranked]
    complete = with_intervals(source, [one for series in values for one in series], metric)
    series = [
        TrendSeries(metric, tuple(complete[one.key] for one in results)) for results in values
    ]
    explained = _explained(source, with_steps(source, selection, metric, series))
    return Trends(metric, explained, counts["several"] - len(series), counts["once"], per_host)


def _question(selection: Selection, metric: Metric, *, per_host: bool) -> str:
    """The results of the series that are read, chosen by few columns; all series are counted."""
    columns = MetricColumns.of(metric)
    names = (*SERIES, "hostname") if per_host else SERIES
    keys = ", ".join((*(f"r.{name}" for name in names), *comparable_sql(metric).values()))
    results = f"{selection.relation} r{columns.beside}"
    has_value = f"{columns.value} > 0 AND r.measured_at IS NOT NULL AND {IN_HISTORY}"
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
                    SELECT hash({keys}) AS key, {columns.part} AS part,
                        {columns.value}::DOUBLE AS value, (r.measured_at, r.result_id) AS moment
                    FROM {results} WHERE {has_value}
                ) GROUP BY key, part
            ) QUALIFY rank <= {MOST_SERIES}
        )
        SELECT ranked.rank, ranked.once, ranked.several, ranked.results, {facts}, {columns.selected}
        FROM {results} JOIN ranked
            ON ranked.key = hash({keys}) AND ranked.part IS NOT DISTINCT FROM {columns.part}
        WHERE {has_value}
        ORDER BY ranked.rank, r.measured_at, r.result_id
    """


def with_steps(
    source: ArrowSource, selection: Selection, metric: Metric, several: Iterable[TrendSeries]
) -> list[TrendSeries]:
    """Their steps: change points of long series, with the extra `analysis`; else neighbours."""
    known = list(several)
    cells = {one.cell_id for one in known if one.is_long}
    launches = launches_by_result(source, selection, metric, cells) if cells else {}
    return [_with_steps(one, [launches.get(value.key) for value in one.values]) for one in known]


def _with_steps(series: TrendSeries, launches: Sequence[PastResult | None]) -> TrendSeries:
    history = [past for past in launches if past is not None]
    steps = None
    if series.is_long and len(history) == len(series.values):
        steps = level_steps(series.values, history, series.metric.threshold)
    found_by_level = steps is not None
    if steps is None:
        steps = (
            TrendStep(before, after, ratio)
            for before, after in pairwise(series.values)
            if (ratio := after.ratio_to(before)) is not None
            and after.outcome_beside(before, series.metric).is_shown
        )
    ordered = sorted(steps, key=lambda step: -abs(math.log(step.ratio.value)))
    return replace(series, steps=tuple(ordered), by_level=found_by_level)


def level_steps(
    values: Sequence[MetricValue], history: Sequence[PastResult], threshold: float = THRESHOLD
) -> Iterable[TrendStep] | None:
    """The steps of a series, by its launches; None where the extra `analysis` is not installed."""
    try:
        from analysis.regress.steps import levels_of
    except UsageError:
        return None
    indices = {past.result_id: index for index, past in enumerate(history)}
    steps = levels_of(history, {}, threshold).steps
    firsts = ((indices[step.first.result_id], step.ratio) for step in steps)
    return [TrendStep(values[index - 1], values[index], ratio) for index, ratio in firsts]


def _explained(source: ArrowSource, series: Sequence[TrendSeries]) -> tuple[TrendSeries, ...]:
    ends = (end for one in series for step in one.steps for end in (step.before, step.after))
    facts = circumstances_of(source, sorted({value.result_id for value in ends}))

    def explained(step: TrendStep) -> TrendStep:
        then, now = facts.get(step.before.result_id), facts.get(step.after.result_id)
        return replace(step, changes=circumstance_changes(then, now) if then and now else ())

    return tuple(replace(one, steps=tuple(map(explained, one.steps))) for one in series)
