"""Export graphs for all shapes of a job: one that takes every shape, or else one for each."""

import errno
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from runner.contract.cell import Cell
from runner.contract.errors import RecordNotSaved, Unsupported
from runner.contract.files import save_text, sync
from runner.contract.graph import (
    DYNAMIC,
    FAILED_SUFFIX,
    GRAPH_FILE,
    UNFINISHED_SUFFIX,
    Attempt,
    Graph,
    number_format,
    read_graph,
)
from runner.contract.job import Job
from runner.contract.reasons import Reason, reason, write_reason
from runner.export.export_once import (
    ExportRequest,
    GraphExport,
    cell_of_other_sizes,
    error_summary,
    export_once,
    job_shapes,
)
from runner.export.onnx_files import sha256_of_files
from runner.export.samples import samples
from runner.export.strategies import Strategy
from runner.measure.clock import Clock
from runner.process import Progress


def publish_graph(folder: Path, shape: str, make: Callable[[Path], Graph]) -> None:
    """Let `make` write the files of a graph into a temporary folder, then rename it.

    Errors of `make` pass through, and leave nothing behind. A process that is killed leaves an
    unfinished folder, which is never read and which the next export removes.
    """
    with _unfinished(folder, shape) as files:
        graph = make(files)
        for path in files.iterdir():
            sync(path)
        save_text(files / GRAPH_FILE, graph.model_dump_json(indent=2))
        shutil.rmtree(folder / shape, ignore_errors=True)
        files.rename(folder / shape)
    (folder / f"{shape}{FAILED_SUFFIX}").unlink(missing_ok=True)


@contextmanager
def _unfinished(folder: Path, shape: str) -> Iterator[Path]:
    """A folder that is removed at the end unless it was renamed.

    Temporary files lie there too: the exporter's libraries write whole models into them, for which
    a container's /tmp is too small.
    """
    path, usual = folder / f".{shape}{UNFINISHED_SUFFIX}", tempfile.tempdir
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    tempfile.tempdir = str(path)
    try:
        yield path
    finally:
        tempfile.tempdir = usual
        shutil.rmtree(path, ignore_errors=True)


def save_refusal(folder: Path, shape: str, attempts: Iterable[Attempt]) -> None:
    """Save the reasons why there is no graph, one of each attempt."""
    folder.mkdir(parents=True, exist_ok=True)
    tried = {f"attempt{n}": _attempted(attempt) for n, attempt in enumerate(attempts, 1)}
    explanation = write_reason(reason("attempts_failed", **tried))
    save_text(folder / f"{shape}{FAILED_SUFFIX}", explanation)


def _attempted(attempt: Attempt) -> Reason:
    return reason("attempt_failed", way=attempt.remedy, cause=attempt.failure)


def is_intact(folder: Path) -> bool:
    """True if the folder holds a graph, every byte of it as it was written."""
    try:
        graph = read_graph(folder)
    except Unsupported:
        return False
    return all(part.sha256 == sha256_of_files(part.files(folder)) for part in graph.parts.values())


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
