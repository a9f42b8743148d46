"""Verdicts of one machine, and the ids of its devices."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from analysis.results.selection import IS_OURS, OF_A_DEVICE
from analysis.results.source import ArrowSource, text
from runner.contract.cell import Cell

_FINAL = frozenset({"failed", "unsupported", "out_of_memory", "timeout"})
"""Statuses that another try would have again."""


@dataclass(frozen=True)
class HostVerdicts:
    """The verdicts of one machine."""

    measured: frozenset[str] = frozenset()
    """The ids of cells that were measured."""
    ended: Mapping[str, str] = field(default_factory=dict)
    """The newest status of each other cell that would end likewise, by id."""
    without: frozenset[str] = frozenset()
    """Backends that were wanted and never there."""

    def reason_against(self, cell: Cell) -> str | None:
        """The reason not to measure the cell for the first time; None if there is none."""
        if status := self.ended.get(cell.id):
            return f"that ended as {status} here before"
        if cell.backend in self.without:
            return f"of backend {cell.backend}, which was not available here"
        return None


def host_verdicts(source: ArrowSource, host: str) -> HostVerdicts:
    """The verdicts of the machine that views have under this `host`."""
    rows = source.arrow(f"""
        SELECT cell_id, backend,
            bool_or(status = 'ok' AND latency_median_ms IS NOT NULL) AS measured,
            arg_max(status, (measured_at, result_id)) AS status
        FROM benchmark_performance_all r
        WHERE host = {text(host)} AND {IS_OURS} AND {OF_A_DEVICE}
        GROUP BY cell_id, backend ORDER BY cell_id
    """).to_pylist()
    there = {row["backend"] for row in rows if row["status"] != "unavailable"}
    others = [row for row in rows if not row["measured"]]
    return HostVerdicts(
        measured=frozenset(row["cell_id"] for row in rows if row["measured"]),
        ended={row["cell_id"]: row["status"] for row in others if row["status"] in _FINAL},
        without=frozenset(row["backend"] for row in others) - there,
    )


def hardware_of_host(source: ArrowSource, host: str) -> frozenset[str]:
    """The ids of the machine with each of its devices that was measured."""
    table = source.arrow(f"""
        SELECT DISTINCT hardware_id FROM benchmark_performance
        WHERE host = {text(host)} AND hardware_id IS NOT NULL ORDER BY hardware_id
    """)
    return frozenset(table["hardware_id"].to_pylist())
