"""Export every graph that a matrix needs, and report what became of each."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.results.table import Field, wrapping
from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.commands.measure.plan import plan_run
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.registry import choose_launcher, make_launcher
from orchestrator.planning.plan import Plan, RunSource, planned_jobs
from orchestrator.running.artifacts.cache import ARTIFACT_BACKEND, hold_artifacts
from orchestrator.running.artifacts.graphs import Graphs, executes_graph, graph_variant
from orchestrator.running.create import new_run_file, nothing_to_do, require_space
from orchestrator.running.execute_job import Availability, LaunchContext
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import PREPARATIONS_FOLDER, RunFile
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.screen.words.reasons import error_text
from orchestrator.system.text import format_size
from runner.contract.cell import Cell
from runner.contract.errors import (
    BenchError,
    EngineUnavailable,
    NothingToDo,
    Unavailable,
    Unsupported,
)
from runner.contract.graph import GraphKind, NumberFormat, find_graph, fixed_shape
from runner.contract.job import Job


@dataclass(frozen=True)
class PreparedGraph:
    """A graph, or the reason why there is none."""

    model: str
    content: GraphKind
    numbers: NumberFormat
    shape: str
    """`dynamic`, or the sizes that it takes."""
    remedy: str | None = None
    difference_relative: float | None = None
    """Norm of its difference from torch in fp32 by that one's norm."""
    size_bytes: int | None = None
    export_s: float | None = None
    """Seconds that the export took, on the day it was made."""
    failure: str | None = None


def prepare_matrix(request: PlanRequest, observer: Observer) -> tuple[PreparedGraph, ...]:
    """Export every graph that the matrix needs and that is missing."""
    plan, source = plan_run(request)
    for note in plan.notes:
        observer.note(note)
    name = choose_launcher(request.options.launcher, observer.note)
    options = replace(request.options, launcher=name)
    run = plan_preparation(plan, source, request.results, options)
    return export_missing(run, request.results, make_launcher(name, observer.image_step), observer)


def plan_preparation(plan: Plan, source: RunSource, results: Path, options: RunOptions) -> RunFile:
    """The part of a plan whose cells execute prepared graphs, as a preparation of its own."""
    entries = tuple(entry for entry in plan.entries if executes_graph(entry.cell))
    if not entries:
        raise NothingToDo(
            "no cell of the plan executes a prepared graph",
            hint="the runtimes onnxruntime and openvino do; torch builds models itself",
        )
    of_graphs = plan.model_copy(update={"entries": entries})
    to_run = tuple(of_graphs.with_decision("run"))
    if not to_run:
        raise nothing_to_do(of_graphs)
    require_space(results)
    rest = plan.model_copy(update={"entries": to_run})
    return new_run_file(rest, source, results / PREPARATIONS_FOLDER, options, "prepare")


def export_missing(
    run: RunFile, results: Path, launcher: Launcher, observer: Observer
) -> tuple[PreparedGraph, ...]:
    """Export what is missing, on the device of the backend cpu; every graph, in the plan's order.

    Its folder is made while it holds that device, so that none is there without an owner.
    """
    with hold_artifacts(f"preparation {run.run_id}", observer.note):
        with suppress(EngineUnavailable):
            launcher.clean(CATALOGUE[ARTIFACT_BACKEND].locks)
        folder = RunFolder.create(results / PREPARATIONS_FOLDER, run)
        context = LaunchContext(launcher, folder, observer)
        graphs = Graphs(results, context, Availability(launcher))
        prepared: dict[tuple[str, ...], PreparedGraph] = {}
        for planned in planned_jobs(run.plan):
            job = folder.run.job(planned.cells, folder.nowhere)
            for graph in _export(job, graphs):  # as it was when a job first needed it
                variant = (graph.model, graph.content, graph.numbers, graph.shape)
                prepared.setdefault(variant, graph)
        return tuple(prepared.values())


def _export(job: Job, graphs: Graphs) -> list[PreparedGraph]:
    try:
        job, path = graphs.ensure(job)
    except Unavailable as error:
        return [_missing(cell, error) for cell in job.cells]
    return [_prepared(job, cell, path) for cell in job.cells]


def _prepared(job: Job, cell: Cell, graphs: Path | None) -> PreparedGraph:
    try:
        graph, _ = find_graph(job, cell, graphs)
    except Unsupported as error:
        return _missing(cell, error)
    return PreparedGraph(
        *graph_variant(cell),
        graph.shape,
        remedy=graph.remedy,
        difference_relative=graph.difference_relative,
        size_bytes=sum(part.size_bytes for part in graph.parts.values()),
        export_s=graph.export_s,
    )


def _missing(cell: Cell, error: BenchError) -> PreparedGraph:
    return PreparedGraph(*graph_variant(cell), fixed_shape(cell), failure=error_text(error))


_GRAPH_COLUMNS: tuple[str | Field, ...] = (
    *wrapping("model"),
    *("content", "numbers"),
    *wrapping("shape", "exported by"),
    *("difference", Field("size", essential=True, right=True), "seconds"),
)


def print_prepared(graphs: Sequence[PreparedGraph], *, as_json: bool) -> None:
    """Print every graph, then the reasons of those that are missing."""
    if as_json:
        print_json(graphs)
        return
    rows = [
        (
            *(graph.model, graph.content, graph.numbers, graph.shape),
            "failed" if graph.failure else graph.remedy,
            graph.difference_relative,
            None if graph.size_bytes is None else format_size(graph.size_bytes),
            graph.export_s,
        )
        for graph in graphs
    ]
    print_lines(_GRAPH_COLUMNS, rows)
    print_line()
    failures = (
        f"{graph.model} ({graph.content}, {graph.numbers}): {'; '.join(graph.failure.splitlines())}"
        for graph in graphs
        if graph.failure
    )
    for line in dict.fromkeys(failures):
        print_line(line)
    at_hand = sum(graph.failure is None for graph in graphs)
    print_line(f"{at_hand} of {len(graphs)} graphs at hand")
