"""A prepared graph as the page for one's own device gets it, with the inputs of a query."""

from dataclasses import dataclass
from pathlib import Path

from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.graph import Graph
from runner.contract.models import TensorSpec
from runner.contract.web.pages import BUNDLES

PAGE_BACKENDS: tuple[Backend, ...] = tuple(BUNDLES)


@dataclass(frozen=True)
class PageInput:
    """One input of a query, which the page draws itself."""

    spec: TensorSpec
    type: str
    dims: tuple[int, ...]


@dataclass(frozen=True)
class PageGraph:
    """A graph with everything that a page needs to execute it at one shape."""

    cell: Cell
    """Model, precision and sizes; its backend is one of several."""
    backends: tuple[Backend, ...]
    graph: Graph
    folder: Path
    inputs: tuple[PageInput, ...]
    """Inputs from outside, each once."""
