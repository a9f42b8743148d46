"""Export a graph by one strategy, and check it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from runner.backends.torch.model import parameter_count
from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.graph import (
    EXPORTERS,
    Attempt,
    Graph,
    NumberFormat,
    Part,
    fixed_shape,
    graph_kind,
    number_format,
)
from runner.contract.job import Job
from runner.contract.models import AxisRange, ModelSpec
from runner.contract.reasons import Reason, reason
from runner.correctness.reference import fixed_cell
from runner.export.model_patches import bound_masks
from runner.export.onnx_files import describe_part
from runner.export.quantize import quantize_by_calibration, quantize_dynamically
from runner.export.samples import Sample
from runner.export.strategies import Strategy
from runner.export.torch_exporters import ExportSubject
from runner.inputs import calibration_queries, synthesise
from runner.measure.clock import Clock, seconds
from runner.measure.environment import versions

_FEWER_TOKENS = 5
"""Tokens by which the other length is shorter: odd, so that no size divides by two."""


def job_shapes(job: Job) -> dict[str, Cell]:
    """A cell for every shape that sessions of this job execute, the verification's first."""
    return {fixed_shape(cell): cell for cell in (fixed_cell(job), *job.cells)}


def cell_of_other_sizes(model: ModelSpec, cell: Cell) -> Cell:
    """A cell with another value on every axis that the model has."""
    length = cell.sequence_length
    return cell.model_copy(
        update={
            "batch_size": cell.batch_size + 1,
            "sequence_length": None if length is None else _other_length(length),
            "image_size": _other(model.image_size, cell.image_size),
            "audio_seconds": _other(model.audio_seconds, cell.audio_seconds),
        }
    )


def _other_length(length: int) -> int:
    return length - _FEWER_TOKENS if length > _FEWER_TOKENS else length + 1


def _other(allowed: AxisRange | None, value: int | None) -> int | None:
    """The value below, or the one above if there is none; the same if the range has no other."""
    if allowed is None:
        return value
    value, step = value or allowed.default, allowed.multiple_of
    if value - step >= allowed.least:
        return value - step
    return value if allowed.most is not None and value + step > allowed.most else value + step


Files = Mapping[Part, Path]
"""The file of each part, in the order in which the parts are run."""


@dataclass(frozen=True)
class GraphExport:
    """Functions that write and check the files of a kind of graph."""

    strategies: Callable[[ModelSpec], Sequence[Strategy]]
    """The strategies of the export, in the order in which they are tried."""
    write: Callable[[ExportSubject, Strategy, Path], Files]
    """Writes the files into a folder by a strategy; raises whatever an exporter raises."""
    difference: Callable[[ModelSpec, Files, Sequence[Sample], NumberFormat], float]
    """The largest relative difference between the files and torch on these samples; raises
    `WrongExport` if it is larger than the number format allows."""


_CALIBRATION = range(100, 108)
"""Added to the job's seed for the queries that give int8 its ranges; the check's are others."""


@dataclass(frozen=True)
class ExportRequest:
    """A graph to be exported."""

    job: Job
    """The job that needs it."""
    shape: str
    """`dynamic`, or the one shape that the graph takes."""
    cell: Cell
    """The sizes to trace the model with."""
    samples: tuple[Sample, ...]
    """Queries whose outputs must be torch's."""


def export_once(
    request: ExportRequest,
    export: GraphExport,
    strategy: Strategy,
    tried: tuple[Attempt, ...],
    clock: Clock,
    folder: Path,
) -> Graph:
    """Write the graph's files into the folder, and check them."""
    started, job = clock(), request.job
    numbers = number_format(job.cells[0])
    files, method = _write(request, export, strategy, folder)
    return Graph(
        model=job.model.name,
        content=graph_kind(job.cells[0]),
        numbers=numbers,
        method=method,
        shape=request.shape,
        parts={part: describe_part(file) for part, file in files.items()},
        attempts=(*tried, Attempt(remedy=strategy.name, failure=None)),
        difference_relative=export.difference(job.model, files, request.samples, numbers),
        parameters=parameter_count(job.model),
        versions=versions(EXPORTERS),
        export_s=seconds(clock() - started),
    )


def _write(
    request: ExportRequest, export: GraphExport, strategy: Strategy, folder: Path
) -> tuple[Files, str | None]:
    """Write the files; return them and the method of their quantisation, if they are quantised."""
    subject, job = _subject(request), request.job
    numbers = number_format(job.cells[0])
    if numbers in {"fp32", "fp16"}:
        return export.write(subject, strategy, folder), None
    with TemporaryDirectory() as name:
        plain = export.write(subject, strategy, Path(name))
        if numbers == "int8_qdq":
            # The first file may share its weights with the others, so it is rewritten last.
            for file in reversed(list(plain.values())):
                bound_masks(file)
        # A wrong graph may differ by less than int8 is allowed.
        export.difference(job.model, plain, request.samples, "fp32")
        files = {part: folder / file.name for part, file in plain.items()}
        pairs = list(zip(plain.values(), files.values(), strict=True))
        if numbers != "int8_qdq":
            return files, quantize_dynamically(pairs, signed=numbers == "int8_dynamic")
        seeds = (job.weights_seed + more for more in _CALIBRATION)
        queries = calibration_queries(job.model, request.cell, seeds)
        return files, quantize_by_calibration(pairs, queries)


def _subject(request: ExportRequest) -> ExportSubject:
    model, cell, seed = request.job.model, request.cell, request.job.weights_seed
    half = number_format(request.job.cells[0]) == "fp16"
    return ExportSubject(
        model=model,
        seed=seed,
        dtype=torch.float16 if half else torch.float32,
        inputs=synthesise(model, cell, seed),
        others=synthesise(model, cell_of_other_sizes(model, cell), seed),
        outputs=tuple(request.samples[0].outputs),
    )


_LONGEST = 300
"""Characters of one message; exporters append programs of thousands of lines."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def error_summary(error: BaseException) -> Reason:
    """The error with the first line of its text, and the first error that led to it."""
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    summary, cause = _one_line(error), _one_line(root)
    return summary if summary == cause else reason("caused_by", cause=summary, root=cause)


def _one_line(error: BaseException) -> Reason:
    if isinstance(error, BenchError):
        return error.reason
    lines = [line.strip() for line in _COLOURS.sub("", str(error)).splitlines() if line.strip()]
    text = lines[0][:_LONGEST] if lines else None
    return reason("raised", kind=type(error).__name__, text=text)
