"""The machine that would measure: its placements, verdicts and hardware, as far as known."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from analysis.predict.examples.machines import DEVICE_KINDS
from analysis.predict.examples.placements import Counts, Device, Placement, cell_placement
from analysis.predict.examples.work import counts_of_cell
from analysis.results.selection import IS_OURS, OF_A_DEVICE
from analysis.results.source import ArrowSource, text
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec

_UNKNOWN = float("nan")
_UNCOUNTED = Counts(*[_UNKNOWN] * 5)
_HERE = "this machine"
_FINAL = frozenset({"failed", "unsupported", "out_of_memory", "timeout"})
"""Statuses that another try would have again."""


def host_placing(
    known: Iterable[Placement], hardware_ids: Iterable[str]
) -> Callable[[Cell, ModelSpec], Placement]:
    """Places cells on the machine with these ids as its measurements, the newest last, describe it.

    Effects ask what a cell has in common with others and not how fast a device is, so
    uncounted work and unmeasured peaks are NaN here.
    """
    own = frozenset(hardware_ids)
    here = [placement for placement in known if placement.device.key in own]
    devices = {one.backend: one.device for one in here}
    newest = {one.path: one for one in here}

    def placement(cell: Cell, model: ModelSpec) -> Placement:
        kind, last = DEVICE_KINDS.get(cell.backend, "cpu"), newest.get((cell.backend, cell.runtime))
        unknown = Device(f"{_HERE}/{kind}", _HERE, kind, _UNKNOWN, _UNKNOWN, measured=False)
        counts = None
        with suppress(Unsupported):
            counts = counts_of_cell(model, cell)
        return cell_placement(
            *(cell, model, devices.get(cell.backend, unknown), counts or _UNCOUNTED),
            software=last.software if last else "",
            threads=last.threads if last else None,
        )

    return placement


@dataclass(frozen=True)
class HostVerdicts:
    """The verdicts of one machine."""

    measured: frozenset[str] = frozenset()
    ended: Mapping[str, str] = field(default_factory=dict)
    """The newest status of each other cell that would end likewise, by id."""
    without: frozenset[str] = frozenset()
    """Backends that were wanted and never there."""

    def reason_against(self, cell: Cell) -> str | None:
        if status := self.ended.get(cell.id):
            return f"that ended as {status} here before"
        if cell.backend in self.without:
            return f"of backend {cell.backend}, which was not available here"
        return None


def host_verdicts(source: ArrowSource, host: str) -> HostVerdicts:
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
