"""A prepared graph as the page for one's own device gets it, with the inputs of a query."""

from dataclasses import dataclass
from pathlib import Path

from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.graph import Graph
from runner.contract.models import TensorSpec
from runner.contract.web import BUNDLES

PAGE_BACKENDS: tuple[Backend, ...] = tuple(BUNDLES)
"""The backends that a page has."""


@dataclass(frozen=True)
class PageInput:
    """One input of a query, which the page draws itself."""

    spec: TensorSpec
    """Its description."""
    type: str
    """Its type, in ONNX' words."""
    dims: tuple[int, ...]
    """Its shape in numbers."""


@dataclass(frozen=True)
class PageGraph:
    """A graph with everything that a page needs to execute it at one shape."""

    cell: Cell
    """Model, precision and sizes; its backend is one of several."""
    backends: tuple[Backend, ...]
    """The backends that may execute it."""
    graph: Graph
    folder: Path
    """The folder of its files."""
    inputs: tuple[PageInput, ...]
    """Inputs from outside, each once."""
