"""The results of a report: the newest ones of a selection, and a selection of just these."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from analysis.compare.values import MetricValue, metric_values, with_intervals
from analysis.report.report import MOST_ROWS
from analysis.results.metrics import Metric
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource, text
from analysis.results.table import RowFacts

if TYPE_CHECKING:
    import pyarrow as pa

_NONE = "''"
"""A list of ids for SQL that holds no result's."""


class RememberedAnswers:
    """A database that is asked each question once."""

    def __init__(self, source: ArrowSource) -> None:
        self._source = source
        self._answers: dict[str, pa.Table] = {}

    def arrow(self, sql: str) -> "pa.Table":
        """The answer to one question in SQL."""
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
    total: int
    """Results in the selection."""

    @property
    def left_out(self) -> int:
        """Results beyond the rows."""
        return self.total - len(self.rows)

    @cached_property
    def ids(self) -> str:
        """The ids of the results, to stand in brackets behind IN."""
        return ", ".join(text(row["result_id"]) for row in self.rows) or _NONE

    @cached_property
    def shown(self) -> Selection:
        """The selection of these rows alone, which a large database finds quickly."""
        if not self.left_out:
            return self.selection
        return replace(self.selection, condition=f"result_id IN ({self.ids})", every=True)

    @cached_property
    def _grades(self) -> Mapping[str, Any]:
        return {row["result_id"]: row["grade"] for row in self.rows}

    def values(self, metric: Metric) -> tuple[MetricValue, ...]:
        """The values of a metric with the intervals that durations give, and the rows' grades.

        The newest of a series is of grade D where the one before contradicts it, which a selection
        of single results cannot know.
        """
        values = [
            replace(value, facts={**value.facts, "grade": self._grades[value.facts["result_id"]]})
            for value in metric_values(self.source, self.shown, metric)
            if value.facts["result_id"] in self._grades
        ]
        completed = with_intervals(self.source, values, metric)
        return tuple(completed[value.key] for value in values)

    def ask(self, sql: str) -> list[dict[str, Any]]:
        """The answer to a question, row by row."""
        rows: list[dict[str, Any]] = self.source.arrow(sql).to_pylist()
        return rows


def reported_results(
    source: ArrowSource, selection: Selection, most: int = MOST_ROWS
) -> ReportedResults:
    """The newest results of a selection, `most` at most."""
    rows = source.arrow(
        f"SELECT * FROM {selection.relation} ORDER BY measured_at DESC NULLS LAST, result_id"
        f" LIMIT {most}"
    ).to_pylist()
    total = len(rows)
    if total == most:
        counted = source.arrow(f"SELECT count(*) AS results FROM {selection.relation}")
        total = counted.to_pylist()[0]["results"]
    ordered = sorted(rows, key=lambda row: (row["cell_id"], row["result_id"]))
    return ReportedResults(source, selection, tuple(ordered), total)
