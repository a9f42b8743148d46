"""Export graphs for all shapes of a job: one that takes every shape, or else one for each."""

import errno
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from runner.contract.cell import Cell
from runner.contract.errors import RecordNotSaved
from runner.contract.graph import DYNAMIC, Attempt, number_format
from runner.contract.job import Job
from runner.export.export_once import (
    ExportRequest,
    GraphExport,
    cell_of_other_sizes,
    error_summary,
    export_once,
    job_shapes,
)
from runner.export.folder import is_intact, publish_graph, save_refusal
from runner.export.samples import samples
from runner.export.strategies import Strategy
from runner.measure.clock import Clock
from runner.process.streams import Progress

Tried = tuple[Attempt, ...]


def export_graphs(
    job: Job,
    export: GraphExport,
    folder: Path,
    progress: Progress,
    clock: Clock,
    present: Path | None = None,
) -> None:
    """Leave in the folder a graph, or the reason why there is none, for every shape of the job.

    Graphs that are intact, there or among those present, are not made again. QNN takes no shape
    that varies, so the files quantised for it are made for each.
    """
    exporter = _Exporter(job, export, folder, progress, clock, present)
    shapes = job_shapes(job)
    strategies = export.strategies(job.model)
    dynamic = [strategy for strategy in strategies if strategy.dynamic]
    static = [strategy for strategy in strategies if not strategy.dynamic]
    tried: Tried = ()
    if dynamic and number_format(job.cells[0]) != "int8_qdq":
        cell = next(iter(shapes.values()))
        others = (cell_of_other_sizes(job.model, cell), cell.model_copy(update={"batch_size": 1}))
        is_there, tried = exporter.export(DYNAMIC, (cell, *others), dynamic, tried)
        if is_there:
            return
    for shape, cell in shapes.items():
        is_there, attempts = exporter.export(shape, (cell,), static, tried)
        if not is_there:
            save_refusal(folder, shape, attempts)


@dataclass(frozen=True)
class _Exporter:
    """The export of one job's graphs."""

    job: Job
    kind: GraphExport
    folder: Path
    progress: Progress
    clock: Clock
    present: Path | None

    def export(
        self, shape: str, cells: tuple[Cell, ...], strategies: Iterable[Strategy], tried: Tried
    ) -> tuple[bool, Tried]:
        """Try the strategies until one passes the check at these cells.

        The model is traced with the first cell. Returns True if the graph is there now, and the
        attempts that failed.
        """
        if is_intact(self.folder / shape) or (self.present and is_intact(self.present / shape)):
            return True, tried
        self.progress.phase("load")
        try:
            request = ExportRequest(self.job, shape, cells[0], tuple(samples(self.job, cells)))
        except Exception as error:  # a model may raise anything; it becomes the recorded reason
            return False, (*tried, _failed("torch in fp32", error))
        for strategy in strategies:
            self.progress.phase("load")
            files = partial(export_once, request, self.kind, strategy, tried, self.clock)
            try:
                publish_graph(self.folder, shape, files)
            except RecordNotSaved:
                raise
            except Exception as error:  # likewise for whatever an exporter raises
                _refuse_full_disk(self.folder, error)
                tried = (*tried, _failed(strategy.name, error))
            else:
                return True, tried
        return False, tried


def _refuse_full_disk(folder: Path, error: BaseException | None) -> None:
    """Raise an error about a full disk again, since it says nothing about the model."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise RecordNotSaved(f"{folder}: cannot be written: {error.strerror}") from error
        error = error.__cause__ or error.__context__


def _failed(remedy: str, error: Exception) -> Attempt:
    return Attempt(remedy=remedy, failure=error_summary(error))
