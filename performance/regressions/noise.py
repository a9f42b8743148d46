"""Noise of launches and of runs, drawn from real replicates: tails and common days are kept.

A simulated series copies one of the measured cells. What its launches differ by is drawn, with
replacement, from that cell's launches about the mean of their run. What its runs differ by is drawn
from the cell's runs: all cells of a simulated run get the same measured run, so that a slow hour
slows them all. Both are scaled together, so that the launches of a series, over its runs, have the
coefficient of variation that a setting names; the ratio of both stays that of the cell.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from analysis.statistics.variance import variance_components

Floats = NDArray[np.float64]
REPLICATES = Path(__file__).parents[1] / "data" / "replicates.parquet"
"""8 runs of 5 launches of four cells, measured one after the other on a virtual machine with 2
cores that did nothing else: bert-tiny by torch, ONNX Runtime and OpenVINO, and the generation of
gpt2-micro, by `orchestrator bench --rounds 5`."""


@dataclass(frozen=True)
class MeasuredCell:
    """What a measured cell's launches and runs differed by, in logarithms."""

    cell_id: str
    cv: float
    """Standard deviation of launches about the mean of their run."""
    ratio: float
    """Standard deviation of runs by that of launches; 0 where launches explain all of it."""
    launches: Floats
    """Launches about the mean of their run, with deviation 1."""
    runs: Floats
    """Runs about the mean of the cell, with deviation 1."""


@dataclass(frozen=True)
class ReplicateNoise:
    """The noise of all measured cells."""

    cells: tuple[MeasuredCell, ...]
    ratio: float
    """Standard deviation of runs by that of launches, over all cells."""

    def series(
        self, random: np.random.Generator, cv: float, hours: Sequence[int], launches: int
    ) -> Floats:
        """Logarithms of launches, a row for each run with the luck of these measured runs."""
        cell = self.cells[random.integers(len(self.cells))]
        of_launches = random.choice(cell.launches, size=(len(hours), launches))
        of_runs = cell.runs[np.asarray(hours)][:, None]
        scale = cv / math.hypot(1, cell.ratio)
        return scale * (of_launches + cell.ratio * of_runs)


def replicate_noise() -> ReplicateNoise:
    """The noise of the measured replicates."""
    table = pq.read_table(REPLICATES).to_pydict()
    values: dict[str, dict[int, list[float]]] = {}
    for cell, run, median_s in zip(table["cell"], table["run"], table["median_s"], strict=True):
        values.setdefault(cell, {}).setdefault(run, []).append(math.log(median_s))
    measured = {cell: np.array(list(runs.values())) for cell, runs in values.items()}
    cells = tuple(_measured(cell, runs) for cell, runs in measured.items())
    return ReplicateNoise(cells, common_ratio(list(measured.values())))


def common_ratio(cells: Sequence[Floats]) -> float:
    """The standard deviation of runs by that of the launches of a run, over several cells.

    The cells' launches are divided by their deviation first, so that each counts alike.
    """
    levels = []
    for runs in cells:
        within = np.sqrt(runs.var(axis=1, ddof=1).mean())
        levels.append([list(run) for run in (runs - runs.mean()) / within])
    components = variance_components(levels)
    assert components is not None
    excess = components.between / components.within - 1
    return math.sqrt(max(0.0, excess) / components.launches_per_run)


def _measured(cell_id: str, runs: Floats) -> MeasuredCell:
    means = runs.mean(axis=1)
    launches = (runs - means[:, None]).ravel()
    within = float(np.sqrt(runs.var(axis=1, ddof=1).mean()))
    between = float(means.var(ddof=1)) - within**2 / runs.shape[1]
    ratio = math.sqrt(max(0.0, between)) / within
    effects = means - means.mean()
    return MeasuredCell(cell_id, within, ratio, launches / launches.std(), effects / effects.std())
