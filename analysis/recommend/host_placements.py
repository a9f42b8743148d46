"""Placements of cells on the machine that would measure them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analysis.predict.examples.cells import cell_placement
from analysis.predict.examples.machines import DEVICE_KINDS
from analysis.predict.examples.placements import Counts, Device, Placement
from analysis.predict.examples.work import counts_of_cell
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec

_UNKNOWN = float("nan")
_UNCOUNTED = Counts(*[_UNKNOWN] * 5)
_HERE = "this machine"


@dataclass(frozen=True)
class HostPlacements:
    """Placements on one machine, as its measurements describe it."""

    devices: Mapping[str, Device]
    """The device by backend, of the newest measurement."""
    software: Mapping[tuple[str, str], str]
    """By backend and runtime."""
    threads: Mapping[tuple[str, str], int | None]

    def placement(self, cell: Cell, model: ModelSpec) -> Placement:
        """The cell on this machine.

        Effects ask what a cell has in common with others and not how fast a device is, so that
        work that nobody counted and peaks that nobody measured are NaN here.
        """
        path = (cell.backend, cell.runtime)
        return cell_placement(
            *(cell, model),
            self.devices.get(cell.backend) or _unknown_device(cell.backend),
            _counts(cell, model),
            software=self.software.get(path, ""),
            threads=self.threads.get(path),
        )


def host_placements(known: Iterable[Placement], hardware_ids: Iterable[str]) -> HostPlacements:
    """The machine with these ids as its measurements, the newest last, describe it."""
    own = frozenset(hardware_ids)
    here = [placement for placement in known if placement.device.key in own]
    return HostPlacements(
        devices={one.backend: one.device for one in here},
        software={one.path: one.software for one in here},
        threads={one.path: one.threads for one in here},
    )


def _counts(cell: Cell, model: ModelSpec) -> Counts:
    try:
        return counts_of_cell(model, cell) or _UNCOUNTED
    except Unsupported:
        return _UNCOUNTED


def _unknown_device(backend: str) -> Device:
    kind = DEVICE_KINDS.get(backend, "cpu")
    return Device(f"{_HERE}/{kind}", _HERE, kind, _UNKNOWN, _UNKNOWN, measured=False)
