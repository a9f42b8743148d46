"""Failures with their remedies: verdicts without a sound measurement, graphs that took one."""

from analysis.report.report import ReportSection, table_section
from analysis.report.results import ReportedResults
from analysis.results.selection import IS_OURS
from analysis.results.source import text
from analysis.results.table import Field, Table

_MOST_REASONS = 200
_BEFORE = " failed, "
"""Stands in `graph_remedy` between a way of exporting that failed and the one that went."""
_KINDS = f"""
    CASE WHEN r.status <> 'ok' THEN r.status
        WHEN r.correct IS FALSE THEN 'wrong'
        WHEN NOT {IS_OURS} THEN NULL
        WHEN r.proof = 'none' THEN 'unproven'
        WHEN r.proof <> 'proven' THEN r.proof
        WHEN r.correct_reason IS NOT NULL AND r.correct IS NULL THEN 'unverified' END
"""
_FAILURES = (
    Field("kind", "verdict"),
    Field("model"),
    Field("backend"),
    Field("runtime"),
    Field("cells", kind="number"),
    Field("reason", kind="prose"),
    Field("remedy", "what helps", "prose"),
    Field("cell_id", "for example", "id"),
)
_GRAPHS = (
    Field("model"),
    Field("backend"),
    Field("runtime"),
    Field("graph_remedy", "how the graph was made", "prose"),
    Field("cells", kind="number"),
)


def failure_section(results: ReportedResults) -> ReportSection:
    """Verdicts that are no sound measurement, alike ones in one row, with what helps."""
    rows = results.ask(f"""
        SELECT {_KINDS} AS kind, model, backend, runtime,
            CASE WHEN r.status = 'ok' AND kind IN ('wrong', 'unverified') THEN r.correct_reason
                ELSE r.reason END AS reason,
            remedy, count(*) AS cells, min(cell_id) AS cell_id,
            count(*) OVER () AS groups
        FROM {results.selection.verdicts} r
        WHERE kind IS NOT NULL
        GROUP BY ALL ORDER BY cells DESC, cell_id LIMIT {_MOST_REASONS}
    """)
    groups = max((row.pop("groups") for row in rows), default=0)
    table = Table(
        "Verdicts other than a sound measurement",
        _FAILURES,
        rows,
        name="failures",
        left_out=groups - len(rows),
    )
    return table_section("failures", "Failures and what helps", table)


def graph_section(results: ReportedResults) -> ReportSection:
    """Graphs that could not be exported at the first try, with the way that went."""
    rows = results.ask(f"""
        SELECT model, backend, runtime, graph_remedy, count(*) AS cells FROM benchmark_results
        WHERE result_id IN ({results.ids}) AND contains(graph_remedy, {text(_BEFORE)})
        GROUP BY ALL ORDER BY ALL
    """)
    table = Table("Graphs that took a remedy", _GRAPHS, rows, name="graphs")
    return table_section("graphs", "Graphs that took a remedy", table)
