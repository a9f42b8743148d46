"""A report: sections of sentences, tables and charts; the results it shows, and their details."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from analysis.charts.chart import Chart
from analysis.compare.values import MetricValue, metric_values, with_intervals
from analysis.results.metrics import Metric
from analysis.results.selection import MOST_RESULTS, Selection
from analysis.results.source import ArrowSource, text
from analysis.results.table import RowFacts, Table
from analysis.results.trust import GradeSummary

if TYPE_CHECKING:
    import pyarrow as pa

_NO_GRADES = GradeSummary({}, None)


@dataclass(frozen=True)
class ReportSection:
    """A part of a report."""

    name: str
    title: str
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.notes or self.charts or any(table.rows for table in self.tables))


def table_section(name: str, title: str, *tables: Table) -> ReportSection:
    """A section of those tables that have rows."""
    return ReportSection(name, title, tables=[table for table in tables if table.rows])


@dataclass(frozen=True)
class ResultDetail:
    """Facts and raw durations of one result, beside the numbers of its row."""

    cell_id: str
    facts: Sequence[tuple[str, str | Sequence[str]]]
    """Words with their values: run, machine, grade, proof."""
    warmup_ms: Sequence[float] = ()
    """Durations of the warm-up in their order, milliseconds; thinned where there are many."""
    timed_ms: Sequence[float] = ()
    warmup_count: int = 0
    timed_count: int = 0
    is_ours: bool = True
    """False for what others measured, which no command measures again."""


@dataclass(frozen=True)
class Report:
    """A report."""

    topic: str
    title: str
    facts: Mapping[str, str]
    """Facts that all its results share: words with their values."""
    answers: Sequence[str]
    """Sentences that answer its question, as far as the measurements support it."""
    sections: Sequence[ReportSection]
    details: Mapping[str, ResultDetail] = field(default_factory=dict)
    left_out: int = 0
    grades: GradeSummary = _NO_GRADES
    """The grades of its results, with the cause that explains most."""

    @property
    def charts(self) -> tuple[Chart, ...]:
        return tuple(chart for section in self.sections for chart in section.charts)


class RememberedAnswers:
    """A database that is asked each question once."""

    def __init__(self, source: ArrowSource) -> None:
        self._source = source
        self._answers: dict[str, pa.Table] = {}

    def arrow(self, sql: str) -> "pa.Table":
        if sql not in self._answers:
            self._answers[sql] = self._source.arrow(sql)
        return self._answers[sql]


@dataclass(frozen=True)
class ReportedResults:
    """The results that a report shows."""

    source: ArrowSource
    selection: Selection
    """All that was asked for."""
    rows: tuple[RowFacts, ...]
    """The newest of them by cell id, with every column of `benchmark_performance`."""
    left_out: int

    @cached_property
    def ids(self) -> str:
        """The ids of the results, to stand in brackets behind IN."""
        return ", ".join(text(row["result_id"]) for row in self.rows) or "''"

    @cached_property
    def shown(self) -> Selection:
        """The selection of these rows alone, which a large database finds quickly."""
        if not self.left_out:
            return self.selection
        return replace(self.selection, condition=f"result_id IN ({self.ids})", every=True)

    def values(self, metric: Metric) -> tuple[MetricValue, ...]:
        """The values of a metric with the intervals that durations give, and the rows' grades.

        The newest of a series is of grade D where the one before contradicts it, which a selection
        of single results cannot know.
        """
        grades = {row["result_id"]: row["grade"] for row in self.rows}
        values = [
            replace(value, facts={**value.facts, "grade": grades[value.facts["result_id"]]})
            for value in metric_values(self.source, self.shown, metric)
            if value.facts["result_id"] in grades
        ]
        completed = with_intervals(self.source, values, metric)
        return tuple(completed[value.key] for value in values)

    def ask(self, sql: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.source.arrow(sql).to_pylist()
        return rows


def reported_results(
    source: ArrowSource, selection: Selection, most: int = MOST_RESULTS
) -> ReportedResults:
    rows = source.arrow(
        f"SELECT * FROM {selection.relation} ORDER BY measured_at DESC NULLS LAST, result_id"
        f" LIMIT {most}"
    ).to_pylist()
    total = len(rows)
    if total == most:
        counted = source.arrow(f"SELECT count(*) AS results FROM {selection.relation}")
        total = counted.to_pylist()[0]["results"]
    rows.sort(key=lambda row: (row["cell_id"], row["result_id"]))
    return ReportedResults(source, selection, tuple(rows), total - len(rows))
