"""Exports every graph that a plan needs, and tells what became of each."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.launchers.base import Launcher
from orchestrator.planning.plan import Plan
from orchestrator.planning.schedule import planned_jobs
from orchestrator.running.artifacts import BACKEND, hold_groundwork
from orchestrator.running.availability import Readiness
from orchestrator.running.create import Origin, Terms, nothing_to_do, require_space, run_file
from orchestrator.running.execute_job import Surroundings
from orchestrator.running.folder import RunFolder
from orchestrator.running.graphs import Graphs, executes_graph, kind_of
from orchestrator.running.observer import Observer
from orchestrator.running.run_file import RunFile
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

FOLDER_NAME = "preparations"
"""Beside the runs: they have verdicts, preparations have none."""


@dataclass(frozen=True)
class Prepared:
    """A graph, or why there is none."""

    model: str
    content: GraphKind
    numbers: NumberFormat
    shape: str
    """`dynamic`, or the sizes that it takes."""
    remedy: str | None = None
    """How it was exported."""
    difference_relative: float | None = None
    """Norm of its difference from torch in fp32 by that one's norm."""
    size_bytes: int | None = None
    """Size of its files."""
    export_s: float | None = None
    """Seconds that the export took, on the day it was made."""
    failure: str | None = None
    """Why there is none."""


def plan_preparation(plan: Plan, origin: Origin, results: Path, terms: Terms) -> RunFile:
    """What is to be done to export what the plan's cells execute.

    Raises:
        NothingToDo: none of its cells executes a prepared graph, or none of those can run.
        StoreError: the results folder's disk is nearly full.
    """
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
    left = plan.model_copy(update={"entries": to_run})
    return run_file(left, origin, replace(terms, purpose="prepare"))


def prepare(run: RunFile, results: Path, launcher: Launcher, observer: Observer) -> list[Prepared]:
    """Export what is missing, on the device of the backend cpu; every graph, in the plan's order.

    Its folder is made while it holds that device, so that none is there without an owner.

    Raises:
        EngineUnavailable: the engine went away.
        StoreError: the results folder cannot be written.
    """
    with hold_groundwork(f"preparation {run.run_id}", observer.note):
        with suppress(EngineUnavailable):
            launcher.clean(CATALOGUE[BACKEND].locks)
        folder = RunFolder.create(results / FOLDER_NAME, run)
        surroundings = Surroundings(launcher, folder, observer)
        graphs = Graphs(results, surroundings, Readiness(launcher).prepare)
        jobs = [folder.job(each.cells, folder.nowhere) for each in planned_jobs(run.plan)]
        found: dict[tuple[str, ...], Prepared] = {}
        for made in chain.from_iterable(_prepared(job, graphs) for job in jobs):
            found.setdefault((made.model, made.content, made.numbers, made.shape), made)
    return list(found.values())


def _prepared(job: Job, graphs: Graphs) -> list[Prepared]:
    try:
        job, path = graphs.ensure(job)
    except Unavailable as error:
        return [_missing(cell, error) for cell in job.cells]
    return [_found(job, cell, path) for cell in job.cells]


def _found(job: Job, cell: Cell, graphs: Path | None) -> Prepared:
    try:
        graph, _ = find_graph(job, cell, graphs)
    except Unsupported as error:
        return _missing(cell, error)
    return Prepared(
        *kind_of(cell),
        graph.shape,
        remedy=graph.remedy,
        difference_relative=graph.difference_relative,
        size_bytes=sum(part.size_bytes for part in graph.parts.values()),
        export_s=graph.export_s,
    )


def _missing(cell: Cell, error: BenchError) -> Prepared:
    return Prepared(*kind_of(cell), fixed_shape(cell), failure=str(error))


def failures(prepared: Sequence[Prepared]) -> int:
    """How many graphs there are not."""
    return sum(each.failure is not None for each in prepared)
