"""Calibrations: the spread of fresh processes, by machine, backend, runtime and device.

They lie in a file of the results folder, which no job and no merge of others' files writes. So no
stranger's record can make the intervals of this machine's own records narrower.
"""

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from orchestrator.system.files import translate_os_errors
from orchestrator.system.problems import first_fault
from runner.contract.cell import Cell, Frozen
from runner.contract.errors import DamagedFile, StoreError
from runner.contract.files import read_plain_text, write_atomic
from runner.contract.job import ProcessSpread

CALIBRATION_NAME = "calibration.json"

Spreads = Mapping[str, ProcessSpread]
"""The spread of fresh processes by `<backend>/<runtime>/<hardware_id>`."""


class Calibration(Frozen):
    """The content of `calibration.json`."""

    hosts: dict[str, dict[str, ProcessSpread]] = Field(default_factory=dict)


def spread_key(cell: Cell, hardware_id: str) -> str:
    """The path of a cell and the device that it executed on: `cuda/torch/88b3…`."""
    return f"{cell.backend}/{cell.runtime}/{hardware_id}"


def spreads_of_path(spreads: Spreads, cell: Cell) -> dict[str, ProcessSpread]:
    path = spread_key(cell, "")
    return {
        key.removeprefix(path): spread for key, spread in spreads.items() if key.startswith(path)
    }


def read_spreads(results: Path, host: str | None) -> Spreads:
    """The spreads of this machine; none if nobody calibrated it."""
    return _read(results).hosts.get(host or "", {})


def save_spreads(results: Path, host: str, spreads: Spreads) -> Path:
    """Keep these spreads beside those of other paths, devices and machines; returns the file."""
    hosts = _read(results).hosts
    hosts[host] = {**hosts.get(host, {}), **spreads}
    path = results / CALIBRATION_NAME
    with translate_os_errors(path):
        write_atomic(path, Calibration(hosts=hosts).model_dump_json(indent=2) + "\n")
    return path


def _read(results: Path) -> Calibration:
    path = results / CALIBRATION_NAME
    try:
        return Calibration.model_validate_json(read_plain_text(path))
    except FileNotFoundError:
        return Calibration()
    except (OSError, DamagedFile, ValidationError) as error:
        fault = first_fault(error) if isinstance(error, ValidationError) else str(error)
        raise StoreError(
            f"{path}: cannot be read as a calibration: {getattr(error, 'strerror', None) or fault}",
            hint="remove it; `orchestrator doctor --calibrate` measures it anew, where you want"
            " one",
        ) from error
