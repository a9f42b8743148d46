"""Sections that every report has: all results, failures, the environment; the grades of all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from analysis.report.cells import cell_table, marks_sentences, result_details, shared_facts
from analysis.report.report import Report, ReportedResults, ReportSection, table_section
from analysis.results.selection import IS_OURS
from analysis.results.table import Field, RowFacts, Table
from analysis.results.trust import GradeSummary, contradiction, summarise_grades
from runner.contract.record.record import Row
from runner.contract.record.verdict import Doubt, Grade

_MOST_SHOWN = 6
"""Environments and machines side by side; more are counted."""
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
_NAMED_FACTS = {"library": "libraries", "variable": "environment_variables"}
"""Columns of many facts, by the word for one of them."""


def report_on(
    results: ReportedResults,
    topic: str,
    title: str,
    sections: Iterable[ReportSection],
    answers: Iterable[str] = (),
    facts: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """A report on results: its own sections, and behind them those that every report has."""
    everything = (*sections, *_shared_sections(results))
    return Report(
        topic=topic,
        title=title,
        facts={**facts, **shared_facts(results.rows)},
        answers=[*marks_sentences(results), *answers],
        sections=[section for section in everything if not section.is_empty],
        details=result_details(results),
        left_out=results.left_out,
        grades=_grades(results),
    )


def _shared_sections(results: ReportedResults) -> tuple[ReportSection, ...]:
    title = "Graphs that took a remedy"
    return (
        table_section("results", "Results", cell_table(results)),
        table_section("failures", "Failures and what helps", _failure_table(results)),
        table_section("graphs", title, Table(title, _GRAPHS, _graphs(results), name="graphs")),
        table_section(
            "environment", "Environment", _machine_table(results), _software_table(results)
        ),
    )


def _machine_table(results: ReportedResults) -> Table:
    """A column for each machine with its device."""
    machines = results.ask(f"""
        SELECT h.* EXCLUDE (seen_at), used.results FROM hardware_info h JOIN (
            SELECT hardware_id, count(*) AS results FROM benchmark_results
            WHERE result_id IN ({results.ids}) GROUP BY hardware_id
        ) used USING (hardware_id) ORDER BY used.results DESC, hardware_id
    """)
    names = [str(row["device_name"] or row["cpu_model"] or row["hardware_id"]) for row in machines]
    return _side_by_side("machines", "Machines", names, map(_machine, machines), _MACHINE_FACTS)


def _software_table(results: ReportedResults) -> Table:
    """A column for each set of libraries."""
    environments = results.ask(f"""
        SELECT e.* EXCLUDE (seen_at), used.results, used.runtimes FROM environments e JOIN (
            SELECT environment_id, count(*) AS results,
                list_sort(list(DISTINCT runtime)) AS runtimes
            FROM benchmark_results WHERE result_id IN ({results.ids}) GROUP BY environment_id
        ) used USING (environment_id) ORDER BY used.results DESC, environment_id
    """)
    words = dict(_SOFTWARE_FACTS)
    for kind, column in _NAMED_FACTS.items():
        names = sorted({name for row in environments for name, _ in row[column] or ()})
        words |= {f"{kind} {name}": name for name in names}
    headings = [", ".join(filter(None, row["runtimes"])) or "unknown" for row in environments]
    return _side_by_side("software", "Software", headings, map(_software, environments), words)


def _side_by_side(
    name: str,
    title: str,
    headings: Sequence[str],
    facts: Iterable[RowFacts],
    words: Mapping[str, str],
) -> Table:
    """A row for each fact, where any has it."""
    shown = {f"of_{number}": one for number, one in enumerate(facts) if number < _MOST_SHOWN}
    columns = [Field(key, heading, "prose") for key, heading in zip(shown, headings, strict=False)]
    rows = [
        {"fact": word, **{key: one.get(fact) for key, one in shown.items()}}
        for fact, word in words.items()
        if any(one.get(fact) is not None for one in shown.values())
    ]
    more = len(headings) - len(shown)
    notes = (f"and {more:,} more of fewer results",) if more else ()
    return Table(title, (Field("fact"), *columns), rows, notes, name, is_list=False)


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
    named = {
        f"{kind} {name}": value
        for kind, column in _NAMED_FACTS.items()
        for name, value in row[column] or ()
    }
    return {**row, "used_by": str(row["results"]), **named}


_MOST_REASONS = 200
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
    *map(Field, ("model", "backend", "runtime")),
    Field("cells", kind="number"),
    Field("reason", kind="prose"),
    Field("remedy", "what helps", "prose"),
    Field("cell_id", "for example", "id"),
)
_GRAPHS = (
    *map(Field, ("model", "backend", "runtime")),
    Field("graph_remedy", "how the graph was made", "prose"),
    Field("cells", kind="number"),
)


def _failure_table(results: ReportedResults) -> Table:
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
    title, left_out = "Verdicts other than a sound measurement", groups - len(rows)
    return Table(title, _FAILURES, rows, name="failures", left_out=left_out)


def _graphs(results: ReportedResults) -> list[dict[str, Any]]:
    """Graphs that could not be exported at the first try, with the way that went."""
    return results.ask(f"""
        SELECT model, backend, runtime, graph_remedy, count(*) AS cells FROM benchmark_results
        WHERE result_id IN ({results.ids}) AND graph_attempts > 1
        GROUP BY ALL ORDER BY ALL
    """)


@dataclass(frozen=True)
class _GradedRow:
    grade: Grade | None
    doubts: Sequence[Doubt]


def _grades(results: ReportedResults) -> GradeSummary:
    """The grades of a report's results, with the cause that explains most."""
    rows = results.ask(
        f"SELECT result_id, doubts FROM benchmark_results WHERE result_id IN ({results.ids})"
    )
    doubts = {row["result_id"]: row["doubts"] for row in rows}
    return summarise_grades([_graded(row, doubts[row["result_id"]]) for row in results.rows])


def _graded(row: RowFacts, doubts: Sequence[Row] | None) -> _GradedRow:
    known = [Doubt(**{**doubt, "facts": dict(doubt["facts"])}) for doubt in doubts or ()]
    if row.get("contradicted_by"):
        run_id, _, _ = row["contradicted_by"].partition("/")
        known.insert(0, contradiction(run_id, row["contradicted_factor"]))
    return _GradedRow(row["grade"], known)
