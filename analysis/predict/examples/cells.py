"""Cells as placements: what of a cell and its model decides about its results."""

from analysis.predict.examples.example_rows import PREDICTED_MODES
from analysis.predict.examples.names import architecture_in, plain_name
from analysis.predict.examples.placements import Counts, Device, Placement
from runner.contract.cell import Cell
from runner.contract.models import ModelSpec


def unpredicted_part(cell: Cell) -> str | None:
    """The mode or the scenario of a cell that predictions answer nothing about, in words.

    None if they answer.
    """
    if cell.mode not in PREDICTED_MODES:
        return f"mode {cell.mode}"
    if cell.scenario != "single_stream":
        return f"scenario {cell.scenario}"
    return None


def cell_placement(
    cell: Cell,
    model: ModelSpec,
    device: Device,
    counts: Counts,
    *,
    software: str,
    threads: int | None,
) -> Placement:
    """The cell on a device.

    Args:
        cell: the cell.
        model: its model.
        device: the device, with its peaks in the cell's precision.
        counts: the counted work of the cell.
        software: the version of the runtime there.
        threads: what the runtime uses there where the cell names no number.
    """
    return Placement(
        model=plain_name(model.name),
        architecture=architecture_in(model.config),
        device=device,
        backend=cell.backend,
        runtime=cell.runtime,
        precision=cell.precision,
        mode=cell.mode,
        software=software,
        batch_size=cell.batch_size,
        length=cell.sequence_length or cell.image_size or cell.audio_seconds,
        new_tokens=cell.new_tokens,
        threads=cell.threads or threads,
        counts=counts,
    )
