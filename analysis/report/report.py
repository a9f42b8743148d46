"""A report: sections of sentences, tables and charts, with the details behind each number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from analysis.charts.chart import Chart
from analysis.results.trust import GradeSummary

MOST_ROWS = 1000
"""Results in one report, the newest; those beyond are counted."""

ColumnKind = Literal["word", "id", "number", "share", "change", "moment", "prose", "grade"]
NUMBERS: frozenset[ColumnKind] = frozenset({"number", "share", "change"})
"""Kinds of columns that hold numbers."""
ReportRow = Mapping[str, Any]
NO_GRADES = GradeSummary({}, None)


@dataclass(frozen=True)
class ReportColumn:
    """A column of a table."""

    name: str
    """The key in its rows."""
    heading: str
    """For people, with the unit."""
    kind: ColumnKind = "word"
    """The kind of its values: a `share` is shown in percent, a `change` is a ratio, shown as how
    many percent more or less it is."""
    low: str | None = None
    """The key of the 95 % interval's low end; None where there is no interval."""
    high: str | None = None
    measured: bool = False
    """True if a measurement stands behind each value, whose details can be shown."""


@dataclass(frozen=True)
class ReportTable:
    """A table."""

    name: str
    """Its key in JSON, alone of its name in a report."""
    title: str
    columns: Sequence[ReportColumn]
    rows: Sequence[ReportRow]
    notes: Sequence[str] = ()
    """Sentences below it."""
    left_out: int = 0
    """Rows beyond those that are there."""
    answers: Sequence[str] = ()
    """Sentences above it: what its rows show, as far as the measurements support it."""
    is_list: bool = True
    """True if people search and sort its rows; False for facts side by side."""

    def without_empty_columns(self) -> "ReportTable":
        """The same without columns in which no row has a value."""
        kept = [
            column
            for column in self.columns
            if any(row.get(column.name) is not None for row in self.rows)
        ]
        return replace(self, columns=kept)


@dataclass(frozen=True)
class ReportSection:
    """A part of a report."""

    name: str
    title: str
    notes: Sequence[str] = ()
    """Sentences at its beginning."""
    tables: Sequence[ReportTable] = ()
    charts: Sequence[Chart] = ()

    @property
    def is_empty(self) -> bool:
        """True if it shows nothing."""
        return not (self.notes or self.charts or any(table.rows for table in self.tables))


@dataclass(frozen=True)
class ResultDetail:
    """Facts and raw durations of one result, beside the numbers of its row."""

    cell_id: str
    facts: Sequence[tuple[str, str | Sequence[str]]]
    """Words with their values: run, machine, grade, proof."""
    warmup_ms: Sequence[float] = ()
    """Durations of the warm-up in their order, milliseconds; thinned where there are many."""
    timed_ms: Sequence[float] = ()
    """Timed durations likewise."""
    warmup_count: int = 0
    """Durations of the warm-up that were measured."""
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
    """Details by result id."""
    left_out: int = 0
    """Results of the selection beyond those that it shows."""
    grades: GradeSummary = NO_GRADES
    """The grades of its results, with the cause that explains most."""

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts, in their order."""
        return tuple(chart for section in self.sections for chart in section.charts)
