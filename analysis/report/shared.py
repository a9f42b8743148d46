"""Parts that every report has: all results, failures, the environment, and the grades of all."""

from collections.abc import Sequence

from analysis.report.cells import cell_table
from analysis.report.failures import failure_section, graph_section
from analysis.report.machines import environment_section
from analysis.report.report import ReportSection, table_section
from analysis.report.results import ReportedResults
from analysis.results.changes import contradiction
from analysis.results.table import RowFacts
from analysis.results.trust import GradeSummary, summarise_grades
from runner.contract.record.doubts import Doubt
from runner.contract.record.record import Row
from runner.contract.record.verdict import Grade


def shared_sections(results: ReportedResults) -> tuple[ReportSection, ...]:
    """The sections behind those of a topic."""
    return (
        table_section("results", "Results", cell_table(results)),
        failure_section(results),
        graph_section(results),
        environment_section(results),
    )


def grades_of(results: ReportedResults) -> GradeSummary:
    """The grades of a report's results, with the cause that explains most."""
    doubts = results.ask(
        f"SELECT result_id, doubts FROM benchmark_results WHERE result_id IN ({results.ids})"
    )
    by_id = {row["result_id"]: row["doubts"] for row in doubts}
    return summarise_grades([_GradedRow(row, by_id[row["result_id"]]) for row in results.rows])


class _GradedRow:
    """A row as the summary of grades reads it."""

    def __init__(self, row: RowFacts, doubts: Sequence[Row] | None) -> None:
        self.grade: Grade | None = row["grade"]
        self.doubts: Sequence[Doubt] = [
            Doubt(**{**doubt, "facts": dict(doubt["facts"])}) for doubt in doubts or ()
        ]
        if row.get("contradicted_by"):
            run_id, _, _ = row["contradicted_by"].partition("/")
            self.doubts = [contradiction(run_id, row["contradicted_factor"]), *self.doubts]
