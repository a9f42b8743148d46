"""Exports every graph that a plan needs, and tells what became of each."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.attempt import Surroundings
from orchestrator.begin import Origin, Terms, require_space, run_file
from orchestrator.devices import DEVICES
from orchestrator.errors import EngineUnavailable, NothingToDo
from orchestrator.graphs import Graphs, kinds_of
from orchestrator.groundwork import BACKEND
from orchestrator.launchers.base import Launcher
from orchestrator.locks import hold_devices
from orchestrator.observer import Observer
from orchestrator.plan import Plan
from orchestrator.readiness import Readiness
from orchestrator.run_folder import RunFolder
from orchestrator.schedule import planned_jobs
from runner.cell import Job
from runner.errors import Unsupported
from runner.graph import Content, Numbers, content_of, find_graph, fixed_shape, numbers_of

FOLDER_NAME = "preparations"
"""Beside the runs: they have verdicts, preparations have none."""


@dataclass(frozen=True)
class Prepared:
    """A graph, or why there is none."""

    model: str
    content: Content
    numbers: Numbers
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


def begin_preparation(plan: Plan, origin: Origin, results: Path, terms: Terms) -> RunFolder:
    """Make a folder for the jobs that export what the plan's cells execute.

    Raises:
        NothingToDo: none of its cells executes a prepared graph.
        StoreError: the results folder cannot be written or is nearly full.
    """
    entries = [entry for entry in plan.with_decision("run") if kinds_of([entry.cell])]
    if not entries:
        raise NothingToDo(
            "no cell of the plan executes a prepared graph",
            hint="the runtimes onnxruntime and openvino do; torch builds models itself",
        )
    left = plan.model_copy(update={"entries": tuple(entries)})
    require_space(results)
    run = run_file(left, origin, replace(terms, purpose="prepare"))
    return RunFolder.create(results / FOLDER_NAME, run)


def prepare(
    folder: RunFolder, results: Path, launcher: Launcher, observer: Observer
) -> list[Prepared]:
    """Export what is missing, on the device of the backend cpu; every graph, in the plan's order.

    Raises:
        EngineUnavailable: the engine went away.
        StoreError: the results folder cannot be written.
    """
    devices = DEVICES[BACKEND].locks

    def waiting(device: str, holder: str) -> None:
        observer.note(f"waiting for device {device}, held by {holder}")

    with hold_devices(devices, f"preparation {folder.run.run_id}", waiting):
        with suppress(EngineUnavailable):
            launcher.clean(devices)
        surroundings = Surroundings(launcher, folder, observer)
        graphs = Graphs(results, surroundings, Readiness(launcher).prepare)
        found: dict[tuple[str | None, str], Prepared] = {}
        for planned in planned_jobs(folder.run.plan):
            job, path = graphs.ensure(folder.job(planned.cells, folder.nowhere))
            for made in _prepared(job, path):
                found.setdefault((job.graph, made.shape), made)
    return list(found.values())


def _prepared(job: Job, graphs: Path | None) -> Iterator[Prepared]:
    for cell in job.cells:
        kind = (cell.model, content_of(cell), numbers_of(cell))
        try:
            graph, _ = find_graph(job, cell, graphs)
        except Unsupported as error:
            yield Prepared(*kind, fixed_shape(cell), failure=str(error))
        else:
            yield Prepared(
                *kind,
                graph.shape,
                remedy=graph.remedy,
                difference_relative=graph.difference_relative,
                size_bytes=sum(part.size_bytes for part in graph.parts.values()),
                export_s=graph.export_s,
            )


def failures(prepared: Sequence[Prepared]) -> int:
    """How many graphs there are not."""
    return sum(each.failure is not None for each in prepared)
