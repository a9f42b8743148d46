"""Makes graphs for all shapes of a job: one that takes every shape, or else one for each."""

import errno
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from runner.contract.cell import Cell
from runner.contract.errors import RecordNotSaved
from runner.contract.graph import DYNAMIC, Attempt, numbers_of
from runner.contract.job import Job
from runner.export.export_once import Export, Wanted, elsewhere, in_one_line, make, shapes_of
from runner.export.folder import is_intact, place, refuse
from runner.export.samples import samples
from runner.export.strategies import Remedy
from runner.measure.clock import Clock
from runner.process.streams import Progress

Tried = tuple[Attempt, ...]


def export_graphs(job: Job, export: Export, folder: Path, progress: Progress, clock: Clock) -> None:
    """Leave in the folder a graph, or the reason why there is none, for every shape of the job.

    Graphs that are there and intact stay. QNN takes no shape that varies, so the files quantised
    for it are made for each.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    exporter = _Exporter(job, export, folder, progress, clock)
    shapes = shapes_of(job)
    remedies = export.remedies(job.model)
    dynamic = [remedy for remedy in remedies if remedy.dynamic]
    static = [remedy for remedy in remedies if not remedy.dynamic]
    tried: Tried = ()
    if dynamic and numbers_of(job.cells[0]) != "int8_qdq":
        cell = next(iter(shapes.values()))
        others = (elsewhere(job.model, cell), cell.model_copy(update={"batch_size": 1}))
        made, tried = exporter.make(DYNAMIC, (cell, *others), dynamic, tried)
        if made:
            return
    for shape, cell in shapes.items():
        made, attempts = exporter.make(shape, (cell,), static, tried)
        if not made:
            refuse(folder, shape, attempts)


@dataclass(frozen=True)
class _Exporter:
    """Makes the graphs of one job."""

    job: Job
    export: Export
    folder: Path
    progress: Progress
    clock: Clock

    def make(
        self, shape: str, cells: tuple[Cell, ...], remedies: Iterable[Remedy], tried: Tried
    ) -> tuple[bool, Tried]:
        """Try the remedies until one passes the check at these cells.

        The first cell is what the model is traced with. Returns whether the graph is there now,
        and the ways that failed.
        """
        if is_intact(self.folder / shape):
            return True, tried
        self.progress.phase("load")
        try:
            wanted = Wanted(self.job, shape, cells[0], tuple(samples(self.job, cells)))
        except Exception as error:  # whatever a model raises is the reason that others read
            return False, (*tried, _failed("torch in fp32", error))
        for remedy in remedies:
            self.progress.phase("load")
            files = partial(make, wanted, self.export, remedy, tried, self.clock)
            try:
                place(self.folder, shape, files)
            except RecordNotSaved:
                raise
            except Exception as error:  # likewise for whatever an exporter raises
                _refuse_full_disk(self.folder, error)
                tried = (*tried, _failed(remedy.name, error))
            else:
                return True, tried
        return False, tried


def _refuse_full_disk(folder: Path, error: BaseException | None) -> None:
    """A disk that is full says nothing about the model, however deep in a library it was met.

    Raises:
        RecordNotSaved: that is what the error, or what caused it, says.
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise RecordNotSaved(f"{folder}: cannot be written: {error.strerror}") from error
        error = error.__cause__ or error.__context__


def _failed(remedy: str, error: Exception) -> Attempt:
    return Attempt(remedy=remedy, failure=in_one_line(error))
