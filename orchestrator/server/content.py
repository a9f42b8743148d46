"""Everything that the page for one's own device may fetch, by address; there is nothing else."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.screen import pages
from runner import __version__
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.errors import UsageError, how_to_install
from runner.contract.graph import Graph
from runner.contract.models import TensorSpec
from runner.contract.web import (
    BUNDLES,
    RUNTIME_FOLDER,
    SCRIPTS_FOLDER,
    content_type,
    web_session_options,
)

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


PAGE_FOLDER = Path(__file__).with_name("page")
REPORT_STYLE = Path(str(pages.__file__)).with_name("page.css")
_SHARED_SCRIPTS = ("arrays.mjs", "devices.mjs", "queries.mjs", "sessions.mjs")
_CHOICES = "choices.json"
_SIZES = ("batch_size", "sequence_length", "image_size", "audio_seconds")


@dataclass(frozen=True)
class ServedContent:
    """A file, or bytes in memory."""

    type: str
    source: Path | bytes

    @property
    def length(self) -> int:
        return len(self.source) if isinstance(self.source, bytes) else self.source.stat().st_size


def page_content(
    graphs: Sequence[PageGraph], runtime: Path = RUNTIME_FOLDER
) -> Mapping[str, ServedContent]:
    if not runtime.is_dir():
        raise UsageError(
            f"the page needs ONNX Runtime Web, which is not in {runtime}",
            hint=f"{how_to_install('browser')} installs it",
        )
    graph_files = dict.fromkeys(
        file
        for graph in graphs
        for part in graph.graph.parts.values()
        for file in part.files(graph.folder)
    )
    addresses = {path: f"graphs/{number}" for number, path in enumerate(graph_files)}
    choices = {
        "version": __version__,
        "bundles": dict(BUNDLES),
        "sessions": {backend: web_session_options(backend) for backend in PAGE_BACKENDS},
        "graphs": [_graph(graph, addresses) for graph in graphs],
    }
    files = {
        "": PAGE_FOLDER / "index.html",
        "report.css": REPORT_STYLE,
        **{path.name: path for path in sorted(PAGE_FOLDER.iterdir()) if path.name != "index.html"},
        **{f"shared/{name}": SCRIPTS_FOLDER / name for name in _SHARED_SCRIPTS},
        **{f"runtime/{path.name}": path for path in sorted(runtime.iterdir())},
        **{address: path for path, address in addresses.items()},
    }
    return {
        _CHOICES: ServedContent("application/json", json.dumps(choices).encode()),
        **{address: ServedContent(content_type(path), path) for address, path in files.items()},
    }


def _graph(graph: PageGraph, addresses: Mapping[Path, str]) -> dict[str, Any]:
    cell = graph.cell
    return {
        "model": cell.model,
        "precision": cell.precision,
        "sizes": {name: size for name in _SIZES if (size := getattr(cell, name)) is not None},
        "backends": graph.backends,
        "graph_sha256": graph.graph.sha256,
        "bytes": sum(part.size_bytes for part in graph.graph.parts.values()),
        "parameters": graph.graph.parameters,
        "parts": [
            {
                "name": str(name),
                "url": addresses[file],
                "weights": [{"path": path.name, "url": addresses[path]} for path in weights],
            }
            for name, part in graph.graph.parts.items()
            for file, *weights in [part.files(graph.folder)]
        ],
        "inputs": [
            {
                **{name: getattr(tensor.spec, name) for name in ("name", "kind")},
                "type": tensor.type,
                "dims": tensor.dims,
                **{name: getattr(tensor.spec, name) for name in ("low", "high", "last")},
            }
            for tensor in graph.inputs
        ],
    }
