"""Prepared graphs: exported once per model, content and number format, kept for all runs."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from orchestrator.backends.catalogue import GRAPH_RUNTIMES
from orchestrator.launchers.base import Launcher
from orchestrator.planning.plan import Plan
from orchestrator.running.artifacts.cache import (
    ArtifactCache,
    preparation_limits,
    reason_in,
    shapes_left,
    take_graph,
    versions_of,
)
from orchestrator.running.execute_job import Availability, LaunchContext
from orchestrator.running.launch_limits import OWN_SHAPES
from orchestrator.screen.words.reasons import reason_text
from runner.contract.artifact_keys import GRAPHS, Versions, graph_key
from runner.contract.cell import Cell
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.graph import (
    DYNAMIC,
    FAILED_SUFFIX,
    GraphKind,
    NumberFormat,
    fixed_shape,
    graph_in,
    graph_kind,
    number_format,
    read_graph,
)
from runner.contract.job import Job
from runner.contract.models import ModelSpec
from runner.contract.reasons import Reason, reason

GRAPHS_FOLDER = "graphs"


class GraphVariant(NamedTuple):
    """The three things by which the graphs of one run differ."""

    model: str
    content: GraphKind
    numbers: NumberFormat


def executes_graph(cell: Cell) -> bool:
    return cell.runtime in GRAPH_RUNTIMES


def graph_variant(cell: Cell) -> GraphVariant:
    return GraphVariant(cell.model, graph_kind(cell), number_format(cell))


def exports_left(
    plan: Plan, results: Path, launcher: type[Launcher], seed: int
) -> list[GraphVariant]:
    """The variants that the plan's run would export first, by this launcher and with this seed."""
    cells = filter(executes_graph, (entry.cell for entry in plan.with_decision("run")))
    wanted = {(graph_variant(cell), fixed_shape(cell)): cell for cell in cells}
    versions = versions_of(GRAPHS, in_images=launcher.needs_images)
    graphs = results / GRAPHS_FOLDER
    missing = [
        kind
        for (kind, _), cell in wanted.items()
        if not has_graph(graphs / graph_name(plan.models[cell.model], cell, seed, versions), cell)
    ]
    return list(dict.fromkeys(missing))


def graph_name(model: ModelSpec, cell: Cell, seed: int, versions: Versions) -> str:
    """The folder, among all graphs, of the one that the cell executes."""
    return graph_key(model, graph_kind(cell), number_format(cell), seed, versions)


def has_graph(folder: Path, cell: Cell) -> bool:
    try:
        graph_in(folder, cell)
    except Unsupported:
        return False
    return True


def is_graph(folder: Path) -> bool:
    try:
        read_graph(folder)
    except Unsupported:
        return False
    return True


class Graphs:
    """The prepared graphs of one results folder, each exported when a run first needs it."""

    def __init__(
        self,
        results: Path,
        context: LaunchContext,
        availability: Availability,
        recorded: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`recorded` are an earlier version's, by cell id, to be executed where they still are."""
        self._cache = ArtifactCache(results / GRAPHS_FOLDER, context, availability)
        self._recorded = recorded
        self._tried: set[str] = set()
        self._gone: set[str] = set()
        self._cut_short: dict[str, Reason] = {}

    def ensure(self, job: Job) -> tuple[Job, Path | None]:
        """The job with its graph named, and the folder of all graphs.

        The folder is None if the job executes none. A graph of dynamic shape serves every cell;
        where sizes had to be fixed, those that are missing are exported. What cannot be exported
        is tried once in a run. The exporter's reason then lies in its place, where sessions read
        it, until a later run tries again.
        """
        if not executes_graph(job.cells[0]):
            return job, None
        job, folder = self._named(job), self._cache.open()
        shapes = {f"{job.graph}/{fixed_shape(cell)}": cell for cell in job.cells}
        present = folder / str(job.graph)
        missing = {
            name: cell
            for name, cell in shapes.items()
            if name not in self._tried and not has_graph(present, cell)
        }
        if missing:
            self._export(job, missing)
        for name in shapes:
            if cause := self._cut_short.get(name):
                raise Unavailable(reason("graph_cut_short", cause=cause))
        return job, folder

    def _named(self, job: Job) -> Job:
        if recorded := self._earlier(job):
            return job.model_copy(update={"graph": recorded})
        versions = self._cache.versions(GRAPHS)
        name = graph_name(job.model, job.cells[0], job.weights_seed, versions)
        return job.model_copy(update={"graph": name})

    def _earlier(self, job: Job) -> str | None:
        """The graph of an earlier version that the job shall execute; None without one here."""
        names = {self._recorded.get(cell.id) for cell in job.cells}
        (name,) = names if len(names) == 1 else (None,)
        if name is None:
            return None
        if all(has_graph(self._cache.path / name, cell) for cell in job.cells):
            return name
        if name not in self._gone:
            self._gone.add(name)
            self._cache.note(f"the graph {name} is gone: today's is executed in its place")
        return None

    def _export(self, job: Job, missing: Mapping[str, Cell]) -> None:
        """Export these graphs, by their names; keep and note the reasons of those that fail."""
        first = job.cells[0]
        subject = f"{job.model.name} ({graph_kind(first)}, {number_format(first)})"
        self._cache.note(f"exporting the graph of {subject}")
        of_all = f"{job.graph}/{DYNAMIC}"
        for name in (of_all, *missing):
            self._cache.forget_failure(name)
        export, graphs = _export_job(job, missing.values()), self._cache.path
        ended = self._cache.launch(export, partial(self._take, export), graphs)
        self._tried |= missing.keys()
        reasons = {
            name: self._cache.failure(name) or self._cache.failure(of_all)
            for name, cell in missing.items()
            if not has_graph(graphs / str(job.graph), cell)
        }
        cut_short = {name: ended for name, explanation in reasons.items() if explanation is None}
        if cut_short:
            self._cut_short |= cut_short
            line = f"no graph of {subject}, so its cells are unavailable: {reason_text(ended)}"
            self._cache.note(line, ended)
        for explanation in dict.fromkeys(filter(None, reasons.values())):
            lines = "; ".join(reason_text(explanation).splitlines())
            self._cache.note(f"no graph of {subject}, so its cells are unsupported: {lines}")

    def _take(self, job: Job, out: Path) -> None:
        folder, left = self._cache.path / str(job.graph), out / str(job.graph)
        folder.mkdir(exist_ok=True)
        most = len(job.cells) + OWN_SHAPES
        for shape, draft in shapes_left(left, most).items():
            if is_graph(folder / shape):
                continue
            try:
                take_graph(draft, folder / shape, job.cells[0])
            except Unsupported as refusal:
                self._cache.keep_failure(f"{job.graph}/{shape}", refusal.reason)
        for shape, file in shapes_left(left, most, FAILED_SUFFIX).items():
            if refused := reason_in(file):
                self._cache.keep_failure(f"{job.graph}/{shape}", refused)


def _export_job(job: Job, missing: Iterable[Cell]) -> Job:
    first = job.cells[0]
    return job.model_copy(
        update={
            "id": f"prepare-{job.model.name}-{graph_kind(first)}-{number_format(first)}",
            "cells": tuple(cell.model_copy(update={"threads": None}) for cell in missing),
            "limits": preparation_limits(job),
            "purpose": "prepare",
            "trace": False,
            "round": 1,
        }
    )
