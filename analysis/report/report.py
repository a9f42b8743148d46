"""A report: sections of sentences, tables and charts, with the details behind each number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.charts.chart import Chart
from analysis.results.table import Table
from analysis.results.trust import GradeSummary

MOST_ROWS = 1000
"""Results in one report, the newest; those beyond are counted."""

NO_GRADES = GradeSummary({}, None)


@dataclass(frozen=True)
class ReportSection:
    """A part of a report."""

    name: str
    title: str
    notes: Sequence[str] = ()
    """Sentences at its beginning."""
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()

    @property
    def is_empty(self) -> bool:
        """True if it shows nothing."""
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
