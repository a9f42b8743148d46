"""Export graphs for all shapes of a job: one that takes every shape, or else one for each."""

import errno
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

from runner.backends.torch.model import parameter_count
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, RecordNotSaved, Unsupported
from runner.contract.files import save_text, sync
from runner.contract.graph import (
    DYNAMIC,
    EXPORTERS,
    FAILED_SUFFIX,
    GRAPH_FILE,
    UNFINISHED_SUFFIX,
    Attempt,
    Graph,
    NumberFormat,
    Part,
    fixed_shape,
    graph_kind,
    number_format,
    read_graph,
)
from runner.contract.job import Job
from runner.contract.models import AxisRange, ModelSpec
from runner.contract.reasons import Reason, reason, write_reason
from runner.correctness.reference import fixed_cell
from runner.export.check import Sample, samples
from runner.export.onnx_files import describe_part, sha256_of_files
from runner.export.quantize import bound_masks, quantize_by_calibration, quantize_dynamically
from runner.export.torch_exporters import ExportSubject, Strategy
from runner.inputs import calibration_queries, synthesise
from runner.measure.clock import Clock, seconds
from runner.measure.environment import versions
from runner.process import Progress

_FEWER_TOKENS = 5
"""Tokens by which the other length is shorter: odd, so that no size divides by two."""
_CALIBRATION = range(100, 108)
"""Added to the job's seed for the queries that give int8 its ranges; the check's are others."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

Files = Mapping[Part, Path]
"""The file of each part, in the order in which the parts are run."""
Tried = tuple[Attempt, ...]


@dataclass(frozen=True)
class GraphExport:
    """Functions that write and check the files of a kind of graph."""

    strategies: Callable[[ModelSpec], Sequence[Strategy]]
    write: Callable[[ExportSubject, Strategy, Path], Files]
    """Writes the files into a folder by a strategy; raises whatever an exporter raises."""
    difference: Callable[[ModelSpec, Files, Sequence[Sample], NumberFormat], float]
    """The largest relative difference from torch; raises `WrongExport` beyond the tolerance."""


def export_graphs(
    job: Job,
    export: GraphExport,
    folder: Path,
    progress: Progress,
    clock: Clock,
    present: Path | None = None,
) -> None:
    """Leave in the folder a graph, or the reason why there is none, for every shape of the job.

    Intact graphs are not made again. QNN takes no shape that varies.
    """
    exporter = _Exporter(job, export, folder, progress, clock, present)
    shapes = job_shapes(job)
    strategies = export.strategies(job.model)
    dynamic = [strategy for strategy in strategies if strategy.dynamic]
    static = [strategy for strategy in strategies if not strategy.dynamic]
    tried: Tried = ()
    if dynamic and exporter.numbers != "int8_qdq":
        cell = next(iter(shapes.values()))
        others = (cell_of_other_sizes(job.model, cell), cell.model_copy(update={"batch_size": 1}))
        is_there, tried = exporter.export(DYNAMIC, (cell, *others), dynamic, tried)
        if is_there:
            return
    for shape, cell in shapes.items():
        is_there, attempts = exporter.export(shape, (cell,), static, tried)
        if not is_there:
            _save_refusal(folder, shape, attempts)


def job_shapes(job: Job) -> dict[str, Cell]:
    """A cell for every shape that sessions of this job execute, the verification's first."""
    return {fixed_shape(cell): cell for cell in (fixed_cell(job), *job.cells)}


def cell_of_other_sizes(model: ModelSpec, cell: Cell) -> Cell:
    """A cell with another value on every axis that the model has."""
    length = cell.sequence_length
    if length is not None:
        length = length - _FEWER_TOKENS if length > _FEWER_TOKENS else length + 1
    return cell.model_copy(
        update={
            "batch_size": cell.batch_size + 1,
            "sequence_length": length,
            "image_size": _other(model.image_size, cell.image_size),
            "audio_seconds": _other(model.audio_seconds, cell.audio_seconds),
        }
    )


def _other(allowed: AxisRange | None, value: int | None) -> int | None:
    """The value below, or the one above if there is none; the same if the range has no other."""
    if allowed is None:
        return value
    value, step = value or allowed.default, allowed.multiple_of
    if value - step >= allowed.least:
        return value - step
    return value if allowed.most is not None and value + step > allowed.most else value + step


class _Request(NamedTuple):
    """A graph to be exported, the sizes to trace it with, and queries to check it with."""

    shape: str
    cell: Cell
    samples: Sequence[Sample]


@dataclass(frozen=True)
class _Exporter:
    """The export of one job's graphs."""

    job: Job
    kind: GraphExport
    folder: Path
    progress: Progress
    clock: Clock
    present: Path | None

    @property
    def numbers(self) -> NumberFormat:
        return number_format(self.job.cells[0])

    def export(
        self, shape: str, cells: tuple[Cell, ...], strategies: Iterable[Strategy], tried: Tried
    ) -> tuple[bool, Tried]:
        """Try strategies, traced with the first cell, until one passes the check at all cells.

        Returns True if the graph is there now, and the attempts that failed.
        """
        if is_intact(self.folder / shape) or (self.present and is_intact(self.present / shape)):
            return True, tried
        self.progress.phase("load")
        try:
            request = _Request(shape, cells[0], samples(self.job, cells))
        except Exception as error:  # a model may raise anything; it becomes the recorded reason
            return False, (*tried, _failed("torch in fp32", error))
        for strategy in strategies:
            self.progress.phase("load")
            try:
                publish_graph(self.folder, shape, partial(self._make, request, strategy, tried))
            except RecordNotSaved:
                raise
            except Exception as error:  # likewise for whatever an exporter raises
                _refuse_full_disk(self.folder, error)
                tried = (*tried, _failed(strategy.name, error))
            else:
                return True, tried
        return False, tried

    def _make(self, request: _Request, strategy: Strategy, tried: Tried, folder: Path) -> Graph:
        started, model = self.clock(), self.job.model
        files, method = self._write(request, strategy, folder)
        return Graph(
            model=model.name,
            content=graph_kind(self.job.cells[0]),
            numbers=self.numbers,
            method=method,
            shape=request.shape,
            parts={part: describe_part(file) for part, file in files.items()},
            attempts=(*tried, Attempt(remedy=strategy.name, failure=None)),
            difference_relative=self.kind.difference(model, files, request.samples, self.numbers),
            parameters=parameter_count(model),
            versions=versions(EXPORTERS),
            export_s=seconds(self.clock() - started),
        )

    def _write(
        self, request: _Request, strategy: Strategy, folder: Path
    ) -> tuple[Files, str | None]:
        """Write the files; return them and the method of their quantisation, if there is one."""
        model, seed = self.job.model, self.job.weights_seed
        cell, numbers = request.cell, self.numbers
        subject = ExportSubject(
            model=model,
            seed=seed,
            dtype=torch.float16 if numbers == "fp16" else torch.float32,
            inputs=synthesise(model, cell, seed),
            others=synthesise(model, cell_of_other_sizes(model, cell), seed),
            outputs=tuple(request.samples[0].outputs),
        )
        if numbers in {"fp32", "fp16"}:
            return self.kind.write(subject, strategy, folder), None
        with tempfile.TemporaryDirectory() as name:
            plain = self.kind.write(subject, strategy, Path(name))
            if numbers == "int8_qdq":
                # The first file may share its weights with the others, so it is rewritten last.
                for file in reversed(list(plain.values())):
                    bound_masks(file)
            # A wrong graph may differ by less than int8 is allowed.
            self.kind.difference(model, plain, request.samples, "fp32")
            files = {part: folder / file.name for part, file in plain.items()}
            pairs = list(zip(plain.values(), files.values(), strict=True))
            if numbers != "int8_qdq":
                return files, quantize_dynamically(pairs, signed=numbers == "int8_dynamic")
            queries = calibration_queries(model, cell, (seed + more for more in _CALIBRATION))
            return files, quantize_by_calibration(pairs, queries)


def publish_graph(folder: Path, shape: str, make: Callable[[Path], Graph]) -> None:
    """Let `make` write the files of a graph into a temporary folder, then rename it.

    A killed process leaves an unfinished folder, which the next export removes.
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
    """A folder that is removed unless it was renamed; libraries' temporary files lie there, too."""
    path, usual = folder / f".{shape}{UNFINISHED_SUFFIX}", tempfile.tempdir
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    tempfile.tempdir = str(path)
    try:
        yield path
    finally:
        tempfile.tempdir = usual
        shutil.rmtree(path, ignore_errors=True)


def is_intact(folder: Path) -> bool:
    """True if the folder holds a graph, every byte of it as it was written."""
    try:
        graph = read_graph(folder)
    except Unsupported:
        return False
    return all(part.sha256 == sha256_of_files(part.files(folder)) for part in graph.parts.values())


def _save_refusal(folder: Path, shape: str, attempts: Tried) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tried = {
        f"attempt{number}": reason("attempt_failed", way=attempt.remedy, cause=attempt.failure)
        for number, attempt in enumerate(attempts, 1)
    }
    save_text(folder / f"{shape}{FAILED_SUFFIX}", write_reason(reason("attempts_failed", **tried)))


def _refuse_full_disk(folder: Path, error: BaseException | None) -> None:
    """Raise an error about a full disk again, since it says nothing about the model."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise RecordNotSaved(f"{folder}: cannot be written: {error.strerror}") from error
        error = error.__cause__ or error.__context__


def _failed(remedy: str, error: Exception) -> Attempt:
    """The attempt, with its error and the first error that led to it."""
    root: BaseException = error
    while root.__cause__ is not None:
        root = root.__cause__
    summary, cause = _one_line(error), _one_line(root)
    if summary != cause:
        summary = reason("caused_by", cause=summary, root=cause)
    return Attempt(remedy=remedy, failure=summary)


def _one_line(error: BaseException) -> Reason:
    if isinstance(error, BenchError):
        return error.reason
    lines = [line.strip() for line in _COLOURS.sub("", str(error)).splitlines() if line.strip()]
    text = lines[0][:300] if lines else None  # exporters append programs of thousands of lines
    return reason("raised", kind=type(error).__name__, text=text)
