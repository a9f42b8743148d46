"""Machines and software behind results: the environment of a report."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report.report import ReportSection, table_section
from analysis.report.results import ReportedResults
from analysis.results.table import Field, Table

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
