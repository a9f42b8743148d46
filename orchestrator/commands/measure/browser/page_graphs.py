"""Prepared graphs for the page that measures on one's own device, with the inputs of a query."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.commands.measure.plan import plan_run
from orchestrator.commands.measure.prepare import prepare_matrix
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.options.bench import BenchOptions
from orchestrator.running.artifacts.cache import versions_of
from orchestrator.running.artifacts.graphs import GRAPHS_FOLDER, graph_name
from orchestrator.running.observer import Observer
from orchestrator.screen.words.reasons import error_text
from orchestrator.server.page_graph import PageGraph, PageInput
from runner.contract.artifact_keys import GRAPHS
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo, Unsupported
from runner.contract.graph import Graph, fixed_shape, graph_in
from runner.contract.models import ModelSpec, shape_of, sizes_of
from runner.contract.models.spec import TensorKind

_TYPES: Mapping[TensorKind, str] = {
    "token_ids": "int64",
    "ones": "int64",
    "normal": "float32",
    "false": "bool",
}
"""The types of tensors that the page draws: none around images in prompts."""


@dataclass(frozen=True)
class PageGraphs:
    """The graphs of a page, and what was left out."""

    graphs: tuple[PageGraph, ...]
    notes: tuple[str, ...] = ()
    """A sentence for each cell that was asked for and has no graph here."""


def page_graphs(request: PlanRequest, observer: Observer) -> PageGraphs:
    """The graphs of the models that are asked for, exported where they are missing.

    Without a model: those of the catalogue that are at hand.
    """
    options = request.matrix
    assert isinstance(options, BenchOptions)
    named = bool(options.axes.get("model"))
    if not named:
        request = replace(request, matrix=replace(options, all_=True))
    plan, _ = plan_run(request)
    cells = [entry.cell for entry in plan.entries if entry.decision != "skip"]
    known = GraphFolders(request.results / GRAPHS_FOLDER, request.options.weights_seed)
    listed = gather_graphs(cells, plan.models, known)
    if named and listed.notes:
        prepare_matrix(request, observer)
        listed = gather_graphs(cells, plan.models, known)
    if not listed.graphs:
        raise NothingToDo(
            "; ".join(listed.notes) if named and listed.notes else "no prepared graph is at hand",
            hint="`--model bert-tiny` exports one",
        )
    return listed if named else replace(listed, notes=())


class GraphFolders:
    """The prepared graphs of a results folder, by processes and by containers alike."""

    def __init__(self, path: Path, seed: int) -> None:
        self._path, self._seed = path, seed
        made_by = (versions_of(GRAPHS, in_images=in_images) for in_images in (False, True))
        self._versions = tuple(made_by)

    def find(self, model: ModelSpec, cell: Cell) -> tuple[Graph, Path]:
        """The graph that the cell executes, and the folder of its files."""
        names = (graph_name(model, cell, self._seed, versions) for versions in self._versions)
        folders = [self._path / name for name in names]
        at_hand = next((folder for folder in folders if folder.is_dir()), folders[0])
        return graph_in(at_hand, cell)


def gather_graphs(
    cells: Iterable[Cell], models: Mapping[str, ModelSpec], known: GraphFolders
) -> PageGraphs:
    """One graph for each model, precision and shape, with all backends that take it."""
    graphs: dict[tuple[str, str, str], PageGraph] = {}
    notes: dict[str, None] = {}
    for cell in cells:
        key = (cell.model, cell.precision, fixed_shape(cell))
        if key in graphs:
            earlier = graphs[key]
            graphs[key] = replace(earlier, backends=(*earlier.backends, cell.backend))
            continue
        try:
            graph, folder = known.find(models[cell.model], cell)
            inputs = tuple(_inputs(graph, models[cell.model], cell))
        except Unsupported as refusal:
            notes[f"{cell.model} in {cell.precision}: {error_text(refusal)}"] = None
            continue
        graphs[key] = PageGraph(cell, (cell.backend,), graph, folder, inputs)
    return PageGraphs(tuple(graphs.values()), tuple(notes))


def _inputs(graph: Graph, model: ModelSpec, cell: Cell) -> Iterator[PageInput]:
    if len(graph.parts) > 1:
        raise Unsupported("the page executes no graphs of several parts")
    (part,) = graph.parts.values()
    specs, sizes = {spec.name: spec for spec in model.inputs}, sizes_of(model, cell)
    for name in part.inputs:
        spec = specs.get(name)
        if spec is None or spec.kind not in _TYPES:
            raise Unsupported(f"the page cannot draw the input {name}")
        yield PageInput(spec, _TYPES[spec.kind], shape_of(model, spec, sizes))
