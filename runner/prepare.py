"""Prepares graphs: exports the job's model for the runtimes that execute ONNX."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from runner import __version__
from runner.cell import Job
from runner.errors import BenchError, JobError, RecordNotSaved
from runner.failures import reason_of
from runner.graph import (
    DYNAMIC,
    FAILED_SUFFIX,
    Content,
    content_of,
    exporter_versions,
    graph_key,
    numbers_of,
)
from runner.measure.clock import Clock
from runner.progress import Progress
from runner.whole_files import save_text

EXPORTS: Mapping[Content, str] = {
    "forward": "runner.export.forward",
    "generation": "runner.export.generation",
}
"""Modules with an `EXPORT`; torch comes with them, so they are imported as late as possible."""


def prepare(job: Job, out: Path, progress: Progress, clock: Clock) -> None:
    """Leave in `<out>/<job.graph>` a graph for every shape, or the reason why there is none.

    What concerns no shape in particular, such as libraries of other versions than the graph's name
    tells, is the reason for `dynamic`.

    Raises:
        JobError: the job names no graph.
        RecordNotSaved: the folder takes no more files.
    """
    if job.graph is None:
        raise JobError(f"{job.id}: a job that prepares graphs names their folder, this one none")
    folder = out / job.graph
    folder.mkdir(exist_ok=True)
    progress.phase("load")
    try:
        _check_name(job)
        _export(job, folder, progress, clock)
    except RecordNotSaved:
        raise
    except Exception as error:  # whatever it is, sessions give it as their reason
        save_text(folder / f"{DYNAMIC}{FAILED_SUFFIX}", reason_of(error))


def _export(job: Job, folder: Path, progress: Progress, clock: Clock) -> None:
    graphs = import_module("runner.export.graphs")
    content = import_module(EXPORTS[content_of(job.cells[0])])
    graphs.export_graphs(job, content.EXPORT, folder, progress, clock)


def _check_name(job: Job) -> None:
    """The name must say what this environment will make.

    Raises:
        BenchError: it says something else.
    """
    cell, found = job.cells[0], exporter_versions()
    # A host without a checkout knows the image by its version alone.
    known = (found, {"image": __version__})
    content, numbers = content_of(cell), numbers_of(cell)
    names = [graph_key(job.model, content, numbers, job.seed, made_by) for made_by in known]
    if job.graph not in names:
        raise BenchError(
            f"{job.graph}: this environment would make {names[0]}",
            hint="rebuild the image of backend cpu, or install its extra: pip install -e '.[cpu]'",
        )
