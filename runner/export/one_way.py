"""Makes a graph in one way, and checks it."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from runner.backends.torch_model import count_parameters
from runner.cell import Cell, Job
from runner.export.content import Export, Files
from runner.export.masks import bound_masks
from runner.export.onnx_file import describe
from runner.export.quantize import by_calibration, dynamically
from runner.export.remedies import Remedy
from runner.export.samples import Sample
from runner.export.shapes import elsewhere
from runner.export.torch_onnx import Subject
from runner.graph import EXPORTERS, Attempt, Graph, content_of, numbers_of
from runner.inputs import synthesise
from runner.measure.clock import Clock, seconds
from runner.measure.environment import versions

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
