"""Makes a graph in one way, and checks it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from runner.backends.torch.model import count_parameters
from runner.contract.cell import Cell
from runner.contract.graph import (
    EXPORTERS,
    Attempt,
    Graph,
    Numbers,
    Part,
    content_of,
    fixed_shape,
    numbers_of,
)
from runner.contract.job import Job
from runner.contract.models import AxisRange, ModelSpec
from runner.correctness.reference import fixed_cell
from runner.export.model_patches import bound_masks
from runner.export.onnx_files import describe
from runner.export.quantize import by_calibration, dynamically
from runner.export.samples import Sample
from runner.export.strategies import Remedy
from runner.export.torch_exporters import Subject
from runner.inputs import synthesise
from runner.measure.clock import Clock, seconds
from runner.measure.environment import versions

FEWER_TOKENS = 5
"""By how many tokens the other length is shorter: odd, so that no size divides by two."""


def shapes_of(job: Job) -> dict[str, Cell]:
    """A cell for every shape that sessions of this job execute, the verification's first."""
    return {fixed_shape(cell): cell for cell in (fixed_cell(job), *job.cells)}


def elsewhere(model: ModelSpec, cell: Cell) -> Cell:
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
    return length - FEWER_TOKENS if length > FEWER_TOKENS else length + 1


def _other(allowed: AxisRange | None, value: int | None) -> int | None:
    """The value below, or the one above where there is none; the same where the range ends."""
    if allowed is None:
        return value
    value, step = value or allowed.default, allowed.multiple_of
    if value - step >= allowed.least:
        return value - step
    return value if allowed.most is not None and value + step > allowed.most else value + step


Files = Mapping[Part, Path]
"""The file of each part, in the order in which the parts are run."""


@dataclass(frozen=True)
class Export:
    """How the files of a content are written and checked."""

    remedies: Callable[[ModelSpec], Sequence[Remedy]]
    """The ways of writing them, in the order in which they are tried."""
    write: Callable[[Subject, Remedy, Path], Files]
    """Writes the files into a folder as a remedy says; raises whatever an exporter raises."""
    difference: Callable[[ModelSpec, Files, Sequence[Sample], Numbers], float]
    """The largest relative difference between the files and torch on these samples; raises
    `WrongExport` where it is larger than such numbers are allowed."""


CALIBRATION = range(100, 108)
"""Added to the job's seed for the queries that give int8 its ranges; the check's are others."""


@dataclass(frozen=True)
class Wanted:
    """A graph that is to be made."""

    job: Job
    """The job that asks for it."""
    shape: str
    """`dynamic`, or the one shape that it shall take."""
    cell: Cell
    """The sizes to trace the model with."""
    samples: tuple[Sample, ...]
    """What it must answer as torch does."""


def make(
    wanted: Wanted,
    export: Export,
    remedy: Remedy,
    tried: tuple[Attempt, ...],
    clock: Clock,
    folder: Path,
) -> Graph:
    """Write the graph's files into the folder, and check them.

    Raises:
        WrongExport: they answer otherwise than torch.
        Exception: whatever the exporter's libraries raise.
    """
    started, job = clock(), wanted.job
    numbers = numbers_of(job.cells[0])
    files, method = _write(wanted, export, remedy, folder)
    return Graph(
        model=job.model.name,
        content=content_of(job.cells[0]),
        numbers=numbers,
        method=method,
        shape=wanted.shape,
        parts={part: describe(file) for part, file in files.items()},
        attempts=(*tried, Attempt(remedy=remedy.name, failure=None)),
        difference_relative=export.difference(job.model, files, wanted.samples, numbers),
        parameters=count_parameters(job.model),
        versions=versions(EXPORTERS),
        export_s=seconds(clock() - started),
    )


def _write(
    wanted: Wanted, export: Export, remedy: Remedy, folder: Path
) -> tuple[Files, str | None]:
    """Write the files; which they are, and how their numbers became whole ones, if they are."""
    subject, job = _subject(wanted), wanted.job
    numbers = numbers_of(job.cells[0])
    if numbers in {"fp32", "fp16"}:
        return export.write(subject, remedy, folder), None
    with TemporaryDirectory() as name:
        plain = export.write(subject, remedy, Path(name))
        if numbers == "int8_qdq":
            # The first one's weights may be the others' too, so it is written anew last.
            for file in reversed(list(plain.values())):
                bound_masks(file)
        # A wrong graph may differ by less than int8 is allowed.
        export.difference(job.model, plain, wanted.samples, "fp32")
        files = {part: folder / file.name for part, file in plain.items()}
        pairs = list(zip(plain.values(), files.values(), strict=True))
        if numbers == "int8_dynamic":
            return files, dynamically(pairs)
        queries = [synthesise(job.model, wanted.cell, job.seed + more) for more in CALIBRATION]
        return files, by_calibration(pairs, queries)


def _subject(wanted: Wanted) -> Subject:
    model, cell, seed = wanted.job.model, wanted.cell, wanted.job.seed
    half = numbers_of(wanted.job.cells[0]) == "fp16"
    return Subject(
        model=model,
        seed=seed,
        dtype=torch.float16 if half else torch.float32,
        inputs=synthesise(model, cell, seed),
        others=synthesise(model, elsewhere(model, cell), seed),
        outputs=tuple(wanted.samples[0].outputs),
    )


LONGEST = 300
"""Characters of one message; exporters append programs of thousands of lines."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def in_one_line(error: BaseException) -> str:
    """The error and, where another one led to it, that one: type and first line of each."""
    said = dict.fromkeys(_told(found) for found in (error, *_causes(error)))
    return ", caused by ".join(said)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The first of the errors that led to this one."""
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if cause is not error:
        yield cause


def _told(error: BaseException) -> str:
    lines = [line.strip() for line in _COLOURS.sub("", str(error)).splitlines() if line.strip()]
    kind = type(error).__name__
    return f"{kind}: {lines[0]}"[:LONGEST] if lines else kind
