"""A prepared graph: what an export left for all runtimes that execute ONNX, and where it lies.

<graphs>/<job.graph>/<shape>/graph.json     what was exported and how it was checked
<graphs>/<job.graph>/<shape>/*.onnx         the parts, their weights beside them in *.onnx.data
<graphs>/<job.graph>/<shape>.failed         why there is none

`<shape>` is `dynamic`, or where sizes had to be fixed those of the cell, such as `b1-s128`.
"""

import hashlib
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, ValidationError

from runner.contract.cell import Cell, Frozen
from runner.contract.errors import DamagedFile, Unsupported
from runner.contract.files import TEXT_BYTES, plain_size, read_plain, read_plain_text
from runner.contract.host import multiplies_signed_bytes, read_processor
from runner.contract.job import Job
from runner.contract.reasons import Reason, parse_reason, reason

GRAPH_FILE = "graph.json"
DYNAMIC = "dynamic"
FAILED_SUFFIX = ".failed"
UNFINISHED_SUFFIX = ".unfinished"
PART_WEIGHTS_SUFFIX = ".data"
EXPORTERS = ("onnx", "onnxruntime", "onnxscript", "torch", "transformers")
"""The distributions whose versions decide what an export holds; they stand in a graph's key."""

GraphKind = Literal["forward", "generation"]
ReferenceKind = Literal["forward", "generation", "training"]
"""`forward`: one pass; `generation`: one that fills a key-value cache, one that extends it."""
NumberFormat = Literal["fp32", "fp16", "int8_dynamic", "uint8_dynamic", "int8_qdq"]
"""The number format in the file; a runtime may still be told to compute in another one.

The weights of `uint8_dynamic` are unsigned: processors take it that multiply no others exactly."""
Part = Literal["forward", "prefill", "decode", "vision", "embed", "language"]


class GraphPart(Frozen):
    """One ONNX file; hash and size are those of the file with its weights."""

    file: str = Field(pattern=r"^[\w-][\w.-]*$")
    """Its name, beside `graph.json`."""
    sha256: str
    size_bytes: int
    inputs: tuple[str, ...]
    """Its inputs, by the names of the model's own arguments. Arguments that are not there went
    into the graph as constants, or make no difference."""
    outputs: tuple[str, ...]
    """Its outputs, by the dotted paths that the model's own outputs have."""

    def files(self, folder: Path) -> tuple[Path, ...]:
        weights = folder / f"{self.file}{PART_WEIGHTS_SUFFIX}"
        return (folder / self.file, *([weights] if os.path.lexists(weights) else []))


class Attempt(Frozen):
    """One way of exporting that was tried."""

    remedy: str  # the remedy in a few words: `dynamic shapes`, `static shape`, `eager attention`, …
    failure: Reason | None  # the reason why it was not good enough; null for the one that was


class Graph(Frozen):
    """An export that passed its check; see the columns `graph_…` of a record."""

    model: str
    content: GraphKind
    numbers: NumberFormat
    method: str | None = None
    """The origin of numbers other than floating-point ones, e.g. `dynamic, weights per tensor`."""
    shape: str
    """`dynamic`, or the one shape that it takes."""
    parts: dict[Part, GraphPart]
    """The files, by what they do."""
    attempts: tuple[Attempt, ...] = Field(min_length=1)
    """The ways that were tried, in order; the last one is how the parts were made."""
    difference_relative: NonNegativeFloat
    parameters: NonNegativeInt
    versions: dict[str, str]
    export_s: NonNegativeFloat
    """Seconds that the export took, its check included."""

    @property
    def remedy(self) -> str:
        """The way in which the parts were made."""
        return self.attempts[-1].remedy

    @property
    def takes(self) -> dict[Part, tuple[str, ...]]:
        """The inputs of each part, in the order in which they are run."""
        return {name: part.inputs for name, part in self.parts.items()}

    @property
    def sha256(self) -> str:
        hashes = "\n".join(part.sha256 for part in self.parts.values())
        return hashlib.sha256(hashes.encode()).hexdigest()


def graph_kind(cell: Cell) -> GraphKind:
    return "generation" if cell.mode == "generation" else "forward"


def reference_kind(cell: Cell) -> ReferenceKind:
    """The kind of reference that the cell is compared with: that of training has gradients."""
    return "training" if cell.mode == "training" else graph_kind(cell)


@cache
def dynamic_format() -> NumberFormat:
    """The format of weights that are quantised dynamically for the processor of this machine."""
    _, flags = read_processor()
    return "int8_dynamic" if multiplies_signed_bytes(flags) else "uint8_dynamic"


def number_format(cell: Cell) -> NumberFormat:
    if cell.precision == "int8" and cell.runtime in {"onnxruntime", "onnxruntime_web"}:
        return "int8_qdq" if cell.backend == "qnn" else dynamic_format()
    if cell.precision == "fp16" and cell.backend in {"cuda", "rocm", "webgpu"}:
        return "fp16"
    return "fp32"


_NOT_OF_GRAPHS = {"new_tokens": None, "threads": None, "workers": None}


def fixed_shape(cell: Cell) -> str:
    """The sizes of what goes into the graph; how many tokens come out makes no difference."""
    return cell.model_copy(update={"scenario": "single_stream", **_NOT_OF_GRAPHS}).shape


def find_graph(job: Job, cell: Cell, graphs: Path | None) -> tuple[Graph, Path]:
    """The graph for the cell's shape, and its folder; else the exporter's reason is raised."""
    if graphs is None or job.graph is None:
        raise Unsupported(reason("no_graph_given"))
    return graph_in(graphs / job.graph, cell)


def graph_in(folder: Path, cell: Cell) -> tuple[Graph, Path]:
    """The same, in the folder of the model's graphs."""
    folders = [folder / shape for shape in (DYNAMIC, fixed_shape(cell))]
    exported = [path for path in folders if (path / GRAPH_FILE).exists()]
    for path in exported[:-1]:
        with suppress(Unsupported):  # a damaged one does not hide the other
            return read_graph(path), path
    if exported:
        return read_graph(exported[-1]), exported[-1]
    for shape in (fixed_shape(cell), DYNAMIC):
        failure = folder / f"{shape}{FAILED_SUFFIX}"
        try:
            raise Unsupported(reason("no_graph", cause=parse_reason(read_plain_text(failure))))
        except FileNotFoundError:
            continue
        except (OSError, DamagedFile) as error:
            cause = reason("file_refused", file=failure.name, error=error)
            raise Unsupported(reason("no_graph", cause=cause)) from error
    raise Unsupported(reason("graph_not_exported"))


def first_cell_with_graph(job: Job, graphs: Path | None) -> Cell:
    """The first of the job's cells that has a graph; the others get their own verdict."""
    refusals = []
    for cell in job.cells:
        try:
            find_graph(job, cell, graphs)
        except Unsupported as refusal:
            refusals.append(refusal)
        else:
            return cell
    raise refusals[0]


def read_graph(folder: Path) -> Graph:
    """The graph in the folder, if its files are plain, and as long as they were written."""
    try:
        graph = Graph.model_validate_json(read_plain(folder / GRAPH_FILE, TEXT_BYTES))
        for part in graph.parts.values():
            size = sum(map(plain_size, part.files(folder)))
            if size != part.size_bytes:
                facts = {"file": part.file, "size": size, "written": part.size_bytes}
                raise Unsupported(reason("graph_damaged", graph=folder.name, **facts))
    except (OSError, DamagedFile, ValidationError) as error:
        summary = str(error).splitlines()[0]
        raise Unsupported(reason("graph_unreadable", graph=folder.name, error=summary)) from error
    return graph
