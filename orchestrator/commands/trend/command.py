"""`trend`: a metric over time, series by series."""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from analysis.charts.trends import trend_chart
from analysis.compare.values import MetricValue
from analysis.results.differing import ASKED_AXES, are_distinct, fact_heading, varying, work_words
from analysis.results.metrics import metric_of
from analysis.results.table import Field, Table
from analysis.statistics.numbers import format_number
from analysis.statistics.ratios import (
    counted_words,
    deciding_lines,
    interval_text,
    outcome_facts,
    undecided_reason,
)
from analysis.trend.trends import MOST_SERIES, Trends, TrendSeries, TrendStep, trends_of
from orchestrator.commands.options.verdict import PerHost, Threshold
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_metric
from orchestrator.commands.results.selected import ResultSelection
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.screen.sheet import ON_SCREEN, Sheet
from orchestrator.screen.sheet_output import SheetOutput
from orchestrator.screen.tables import has_blocks, sparkline
from runner.contract.errors import NothingToDo

_MOST_ROWS = 20
_MOST_STEPS = 3
_MOST_CHANGES = 4
_FACTS = (*ASKED_AXES, "part")
"""Facts that stand in the heading where all series share them, else in columns."""


def trend_sheet(trends: Trends, form: str, *, blocks: bool) -> Sheet:
    """The trends as a sheet of this format, sparklines in block letters or in ASCII."""
    metric = trends.metric
    most = _MOST_ROWS if form == ON_SCREEN else len(trends.series)
    rows = [_row(series) for series in trends.series]
    facts = [series.facts for series in trends.series]
    beside = ["hostname"] if trends.per_host else []
    differing = varying(facts, _FACTS)
    title = heading = f"{metric.heading}, over time"
    if not are_distinct(facts, [*differing, *beside]):
        differing = ["cell"]
    elif shared := work_words(facts, _FACTS):
        heading = f"{title}: {shared}"
    fields = _fields([*differing, *beside], rows, blocks=blocks)
    notes = _notes(trends, hidden=len(rows) - len(rows[:most]))
    document = {
        "metric": metric.name,
        "unit": metric.unit,
        "more_is_better": metric.more_is_better,
        "per_host": trends.per_host,
        "threshold": trends.metric.threshold,
        "series": [{name: row[name] for name in row if name != "interval"} for row in rows],
        "left_out": trends.left_out,
        "measured_once": trends.once,
    }
    table = Table(heading, fields, rows[:most])
    return Sheet(title[:1].upper() + title[1:], [table], tuple(notes), document)


def _fields(
    differing: Sequence[str], rows: Sequence[Mapping[str, Any]], *, blocks: bool
) -> list[Field]:
    def course(values: list[Mapping[str, Any]]) -> str:
        return sparkline([one["value"] for one in values], blocks=blocks)

    marked = any(row["mark"] for row in rows)
    files = ("ratio_low", "ratio_high", "grade", "first_run", "last_run", "steps", "steps_by_level")
    return [
        *(Field(name, fact_heading(name), essential=True, wraps=True) for name in differing),
        *(Field(name, hidden=True) for name in ("cell", "hostname") if name not in differing),
        Field("results", "n", essential=True),
        Field("first", essential=True),
        Field("last", essential=True),
        Field("ratio", "last/first", essential=True),
        Field("outcome"),
        Field("values", "course", essential=True, shown=course),
        Field("interval", "95 %", right=True),
        Field("best"),
        Field("undecided_because", "undecided by", shown=undecided_reason),
        *([Field("mark", essential=True, wraps=True)] if marked else []),
        *(Field(name, hidden=True) for name in files),
    ]


def _row(series: TrendSeries) -> dict[str, Any]:
    ratio = series.interval
    return {
        **{name: series.facts.get(name) for name in _FACTS},
        "cell": series.cell_id,
        "part": series.facts["part"],
        "hostname": series.facts["hostname"],
        "results": len(series.values),
        "first": series.first.value,
        "last": series.last.value,
        "ratio": series.ratio,
        "ratio_low": ratio.low if ratio else None,
        "ratio_high": ratio.high if ratio else None,
        "interval": interval_text(ratio),
        **outcome_facts(series.outcome, series.metric),
        "best": series.best.value,
        "best_run": series.best.facts["run_id"],
        "grade": max(series.first.grade, series.last.grade),
        "mark": ", ".join(series.last.marks) or None,
        "first_run": series.first.facts["run_id"],
        "last_run": series.last.facts["run_id"],
        "values": [_value(value) for value in series.values],
        "steps": [_step(step) for step in series.steps],
        "steps_by_level": series.by_level,
    }


def _value(result: MetricValue) -> dict[str, Any]:
    interval, facts = result.interval, result.facts
    return {
        "run_id": facts["run_id"],
        "measured_at": facts["measured_at"],
        "hostname": facts["hostname"],
        "value": result.value,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "grade": result.grade,
    }


def _step(step: TrendStep) -> dict[str, Any]:
    return {
        "before": step.before.facts["run_id"],
        "after": step.after.facts["run_id"],
        "ratio": step.ratio.value,
        "ratio_low": step.ratio.low,
        "ratio_high": step.ratio.high,
        "changes": list(step.changes or ()),
    }


def _notes(trends: Trends, hidden: int) -> Iterator[str]:
    if hidden:
        yield f"… {hidden:,} more with less change: name a GLOB, or `--output FILE` for all"
    if trends.left_out:
        yield (
            f"{trends.left_out:,} series with less change are beyond the {MOST_SERIES:,} that are"
            " read: a GLOB or other filters choose them."
        )
    yield from _answer(trends)
    if trends.without_levels:
        yield (
            f"Steps between neighbours, in {trends.without_levels:,} series with launches enough"
            " for change points: the extra `analysis` finds them."
        )
    if trends.once:
        yield f"Measured once, and not here: {trends.once:,} series."


def _answer(trends: Trends) -> Iterator[str]:
    total = f"{len(trends.series):,} series"
    if trends.left_out:
        total = f"the {total} with the greatest change"
    counted = ((one.outcome, one.ratio) for one in trends.series)
    words = counted_words(counted, trends.metric)
    yield f"The last result by the first, in {total}: {words}."
    ends = [end for one in trends.series for end in (one.first, one.last)]
    worst = max((end.grade, str(end.facts["run_id"])) for end in ends)
    yield from deciding_lines((one.outcome for one in trends.series), worst[1])
    stepped = sorted(
        ((one, one.steps[0]) for one in trends.series if one.steps),
        key=lambda pair: -abs(math.log(pair[1].ratio.value)),
    )
    yield from (_step_words(series, step) for series, step in stepped[:_MOST_STEPS])
    if len(stepped) > _MOST_STEPS:
        more = len(stepped) - _MOST_STEPS
        yield f"Such steps in {more:,} more series: `--format json` tells them."


def _step_words(series: TrendSeries, step: TrendStep) -> str:
    changes = list(step.changes or ())
    more = len(changes) - _MOST_CHANGES
    named = "; ".join(changes[:_MOST_CHANGES]) + (f"; {more} more" if more > 0 else "")
    candidates = f"candidates: {named}" if changes else "nothing that is known changed between them"
    runs = f"run {step.before.facts['run_id']} to {step.after.facts['run_id']}"
    return f"{series.cell_id}: times {format_number(step.ratio.value)} from {runs}; {candidates}"


def report_trend(request: SelectionRequest, metric: str, *, per_host: bool = False) -> Trends:
    with replace(request, every=True).open() as (store, selection):
        trends = trends_of(store, selection, metric_of(metric, store), per_host=per_host)
    if not trends.series:
        raise _nothing(request, trends)
    return trends


def _nothing(request: SelectionRequest, trends: Trends) -> NothingToDo:
    label = trends.metric.label
    if not trends.once:
        return NothingToDo(
            f"{request.database}: no selected result has a value of {label}",
            hint="drop a filter, or see what there is: `orchestrator status`",
        )
    noun = "series was" if trends.once == 1 else "series were"
    message = f"{request.database}: nothing was measured twice: {trends.once:,} {noun} once"
    if request.run is not None:
        return NothingToDo(
            f"{message} in that run", hint="a run measures each cell once: leave out `--run`"
        )
    return NothingToDo(message, hint="measure again with the same matrix: `orchestrator run`")


@dataclass(frozen=True, kw_only=True)
class TrendCommand(SheetOutput, ResultSelection, Command):
    """Show a metric over time, and what changed where it did."""

    glob: Annotated[
        str | None,
        typer.Argument(metavar="GLOB", help="Only cells whose id holds this.", show_default=False),
    ] = None
    metric: Annotated[
        str,
        typer.Option(
            metavar="M",
            help="latency, throughput, memory, p99, ttft, …, or a number column of a view.",
            autocompletion=complete_metric,
        ),
    ] = "latency"
    per_host: PerHost = False
    threshold: Threshold = None

    def execute(self) -> None:
        selected = self.selected.narrowed(self.glob)
        self.require(selected.database)
        trends = report_trend(selected, self.metric, per_host=self.per_host)
        self.draw(lambda: trend_chart(trends))
        blocks = self.output is not None or has_blocks(sys.stdout)
        self.show(trend_sheet(trends, self.format, blocks=blocks))
