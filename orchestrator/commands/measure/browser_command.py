"""`browser`: a page that measures in the browser of one's own device."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options.axes import AxisOptions, with_axes
from orchestrator.commands.options.common import command_line, note
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.program import CommandGroup, Program, chosen
from orchestrator.running.options import LauncherOption, RunOptions, WeightsSeed
from orchestrator.system.files import RESULTS_FOLDER
from orchestrator.system.options import Results, number_parser
from orchestrator.system.text import plural
from runner.contract.axes import AxisName

if TYPE_CHECKING:
    from orchestrator.server.web_server import Serving
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from orchestrator.commands.measure.plan import plan_run
from orchestrator.commands.measure.prepare import prepare_matrix
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.options.axes import BenchOptions
from orchestrator.running.artifacts.cache import versions_of
from orchestrator.running.artifacts.graphs import GRAPHS_FOLDER, graph_name
from orchestrator.running.observer import Observer
from orchestrator.screen.words.reasons import error_text
from orchestrator.server.content import PageGraph, PageInput
from runner.contract.artifact_keys import GRAPHS
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo, Unsupported
from runner.contract.graph import Graph, fixed_shape, graph_in
from runner.contract.models import ModelSpec, shape_of, sizes_of
from runner.contract.models.catalogue import TensorKind

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
    at_hand = (request.results / GRAPHS_FOLDER, request.options.weights_seed)
    listed = gather_graphs(cells, plan.models, *at_hand)
    if named and listed.notes:
        prepare_matrix(request, observer)
        listed = gather_graphs(cells, plan.models, *at_hand)
    if not listed.graphs:
        raise NothingToDo(
            "; ".join(listed.notes) if named and listed.notes else "no prepared graph is at hand",
            hint="`--model bert-tiny` exports one",
        )
    return listed if named else replace(listed, notes=())


def gather_graphs(
    cells: Iterable[Cell], models: Mapping[str, ModelSpec], graphs: Path, seed: int
) -> PageGraphs:
    """One graph for each model, precision and shape, with all backends that take it."""
    pages: dict[tuple[str, str, str], PageGraph] = {}
    notes: dict[str, None] = {}
    for cell in cells:
        key = (cell.model, cell.precision, fixed_shape(cell))
        if key in pages:
            earlier = pages[key]
            pages[key] = replace(earlier, backends=(*earlier.backends, cell.backend))
            continue
        try:
            graph, folder = _find_graph(graphs, models[cell.model], cell, seed)
            inputs = tuple(_inputs(graph, models[cell.model], cell))
        except Unsupported as refusal:
            notes[f"{cell.model} in {cell.precision}: {error_text(refusal)}"] = None
            continue
        pages[key] = PageGraph(cell, (cell.backend,), graph, folder, inputs)
    return PageGraphs(tuple(pages.values()), tuple(notes))


def _find_graph(graphs: Path, model: ModelSpec, cell: Cell, seed: int) -> tuple[Graph, Path]:
    """The graph that the cell executes, by processes or containers, and the folder of its files."""
    made_by = [versions_of(GRAPHS, in_images=in_images) for in_images in (False, True)]
    folders = [graphs / graph_name(model, cell, seed, versions) for versions in made_by]
    return graph_in(next(filter(Path.is_dir, folders), folders[0]), cell)


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


_AXES: tuple[AxisName, ...] = ("model", "precision", "batch_size", "sequence_length")
_HELP: Mapping[AxisName, str] = {
    "model": "Models whose graphs the page offers.  [default: the graphs at hand]"
}
_LARGEST_PORT = 65535

group = Program(help="Serve a page that measures on one's own device.", cls=CommandGroup)


@group.callback()
def browser() -> None:
    """Serve a page that measures on one's own device."""


@group.command(name="serve")
@dataclass(frozen=True, kw_only=True)
@with_axes(_AXES, _HELP)
class ServePage(AxisOptions, Command):
    """Serve a page that measures prepared graphs in the browser that opens it.

    Its results are downloaded there, and `orchestrator import` takes them.
    """

    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="This machine's address at which other devices reach it; the page then has TLS.",
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=_LARGEST_PORT,
            help="The port; 0 takes a free one.",
            parser=number_parser(0, _LARGEST_PORT),
        ),
    ] = 0
    launcher: LauncherOption = "auto"
    results: Results = RESULTS_FOLDER
    weights_seed: WeightsSeed = 0

    def execute(self) -> None:
        from orchestrator.commands.options.axes import BenchOptions
        from orchestrator.commands.program.progress import show_progress
        from orchestrator.server.content import PAGE_BACKENDS, page_content
        from orchestrator.server.web_server import serving

        request = PlanRequest(
            BenchOptions.of_axes({**self.axes, "backend": PAGE_BACKENDS}),
            results=self.results,
            options=RunOptions(launcher=self.launcher, weights_seed=self.weights_seed),
            prepares=True,
            command=command_line(),
        )
        with show_progress(quiet=chosen.quiet) as observer:
            listed = page_graphs(request, observer)
        for text in listed.notes:
            note(text)
        with (
            serving(page_content(listed.graphs), self.host, self.port) as server,
            suppress(KeyboardInterrupt),
        ):
            _tell(server, len(listed.graphs))
            Event().wait()


def _tell(server: "Serving", graphs: int) -> None:
    """Tell the address, and how the user ends it."""
    from orchestrator.screen.lines import print_data, print_line

    print_line(f"{graphs} {plural(graphs, 'graph')} to measure; open this address in the browser:")
    print_data(server.url)
    if server.fingerprint:
        print_line(
            "The browser warns of a certificate that nobody signed. It is ours if its SHA-256 "
            "fingerprint is:"
        )
        print_data(server.fingerprint)
    print_line("Ctrl-C ends it.")
    sys.stdout.flush()
