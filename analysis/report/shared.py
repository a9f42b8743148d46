"""Parts that every report has: all results, failures, the environment, and the grades of all."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report.cells import cell_table
from analysis.report.report import ReportSection, table_section
from analysis.report.results import ReportedResults
from analysis.results.selection import IS_OURS
from analysis.results.source import text
from analysis.results.table import Field, RowFacts, Table
from analysis.results.trust import GradeSummary, contradiction, summarise_grades
from runner.contract.record.doubts import Doubt
from runner.contract.record.record import Row
from runner.contract.record.verdict import Grade

_MOST_SHOWN = 6
"""Environments and machines side by side; more are counted."""
_FACT = Field("fact")
_GIBIBYTE = 2**30
_MACHINE_FACTS = {
    "device_name": "device",
    "cpu_model": "processor",
    "cores": "cores, threads",
    "memory": "memory",
    "machine": "architecture",
    "cpu_flags": "vector instructions",
}
_VECTORS = ("avx", "amx", "sve", "neon", "asimd", "vnni", "bf16", "fp16")
_SOFTWARE_FACTS = {
    "used_by": "results",
    "operating_system": "operating system",
    "kernel": "kernel",
    "python_version": "Python",
    "runner_version": "AccelMatrix",
    "image": "image",
    "image_digest": "image digest",
}


def environment_section(results: ReportedResults) -> ReportSection:
    """Machines and software that the results were measured with."""
    tables = (machine_table(results), software_table(results))
    return table_section("environment", "Environment", *tables)


def machine_table(results: ReportedResults) -> Table:
    """A column for each machine with its device."""
    machines = results.ask(f"""
        SELECT h.* EXCLUDE (seen_at), used.results FROM hardware_info h JOIN (
            SELECT hardware_id, count(*) AS results FROM benchmark_results
            WHERE result_id IN ({results.ids}) GROUP BY hardware_id
        ) used USING (hardware_id) ORDER BY used.results DESC, hardware_id
    """)
    described = [_machine(row) for row in machines]
    names = [str(row["device_name"] or row["cpu_model"] or row["hardware_id"]) for row in machines]
    return _side_by_side("machines", "Machines", names, described, _MACHINE_FACTS)


def software_table(results: ReportedResults) -> Table:
    """A column for each set of libraries."""
    environments = results.ask(f"""
        SELECT e.* EXCLUDE (seen_at), used.results, used.runtimes FROM environments e JOIN (
            SELECT environment_id, count(*) AS results,
                list_sort(list(DISTINCT runtime)) AS runtimes
            FROM benchmark_results WHERE result_id IN ({results.ids}) GROUP BY environment_id
        ) used USING (environment_id) ORDER BY used.results DESC, environment_id
    """)
    libraries = sorted({name for row in environments for name, _ in row["libraries"] or ()})
    variables = sorted({name for row in environments for name, _ in _variables(row)})
    words = {
        **_SOFTWARE_FACTS,
        **{f"library {name}": name for name in libraries},
        **{f"variable {name}": name for name in variables},
    }
    names = [", ".join(filter(None, row["runtimes"])) or "unknown" for row in environments]
    return _side_by_side("software", "Software", names, map(_software, environments), words)


def _side_by_side(
    name: str, title: str, headings: Sequence[str], facts: Any, words: Mapping[str, str]
) -> Table:
    """A row for each fact, where any has it."""
    shown = list(facts)[:_MOST_SHOWN]
    columns = [
        Field(f"of_{number}", heading, "prose")
        for number, heading in enumerate(headings[:_MOST_SHOWN])
    ]
    rows = [
        {"fact": word, **{f"of_{number}": one.get(key) for number, one in enumerate(shown)}}
        for key, word in words.items()
        if any(one.get(key) is not None for one in shown)
    ]
    more = len(headings) - len(shown)
    notes = (f"and {more:,} more of fewer results",) if more else ()
    return Table(title, (_FACT, *columns), rows, notes, name, is_list=False)


def _machine(row: Mapping[str, Any]) -> dict[str, Any]:
    cores, threads = row["cpu_cores_physical"], row["cpu_cores_logical"]
    memory = row["memory_total_bytes"]
    flags = [flag for flag in row["cpu_flags"] or () if flag.startswith(_VECTORS)]
    return {
        **row,
        "cores": ", ".join(str(count) for count in (cores, threads) if count) or None,
        "memory": memory and f"{memory / _GIBIBYTE:.0f} GiB",
        "cpu_flags": " ".join(flags) or None,
    }


def _software(row: Mapping[str, Any]) -> dict[str, Any]:
    libraries = {f"library {name}": version for name, version in row["libraries"] or ()}
    variables = {f"variable {name}": value for name, value in _variables(row)}
    return {**row, "used_by": str(row["results"]), **libraries, **variables}


def _variables(row: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    return row["environment_variables"] or ()


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
