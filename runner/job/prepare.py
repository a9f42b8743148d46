"""Jobs that export the graphs of their model, or count its arithmetic and memory."""

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

from runner.contract.artifact_keys import GRAPHS, check_key, graph_key
from runner.contract.errors import JobError, RecordNotSaved, reason_of
from runner.contract.files import save_text
from runner.contract.graph import DYNAMIC, FAILED_SUFFIX, GraphKind, graph_kind, number_format
from runner.contract.job import Job
from runner.contract.models.counted import COUNTS_FILE, CountedWork
from runner.contract.reasons import write_reason
from runner.measure.clock import Clock
from runner.measure.phases import garbage_collection_off
from runner.process import Progress

_EXPORTS: Mapping[GraphKind, str] = {
    "forward": "runner.export.forward",
    "generation": "runner.export.generation",
}
"""Modules with an `EXPORT`; torch comes with them, so they are imported as late as possible."""


def prepare_graphs(
    job: Job, out: Path, progress: Progress, clock: Clock, graphs: Path | None = None
) -> None:
    """Write a graph for every shape into `<out>/<job.graph>`, or the reason why there is none.

    Shapes of which `graphs` holds an intact one are left out. Reasons that concern all shapes, such
    as libraries of other versions than in the graph's name, are written for the shape `dynamic`.
    """
    if job.graph is None:
        raise JobError(f"{job.id}: a job that prepares graphs names their folder, this one none")
    kind, numbers = graph_kind(job.cells[0]), number_format(job.cells[0])
    folder = out / job.graph
    folder.mkdir(exist_ok=True)
    progress.phase("load")
    try:
        check_key(job.graph, GRAPHS, partial(graph_key, job.model, kind, numbers, job.weights_seed))
        with garbage_collection_off():
            exporter = import_module("runner.export.graphs")
            content = import_module(_EXPORTS[kind])
        present = graphs and graphs / job.graph
        exporter.export_graphs(job, content.EXPORT, folder, progress, clock, present)
    except RecordNotSaved:
        raise
    except Exception as error:  # sessions report it as the reason
        save_text(folder / f"{DYNAMIC}{FAILED_SUFFIX}", write_reason(reason_of(error)))


def count_model(job: Job, out: Path, progress: Progress) -> None:
    """Write `counts.json`: the polynomials of the job's model, or the reason why there are none."""
    progress.phase("load")
    with garbage_collection_off():  # torch comes with it
        counting = import_module("runner.counting")
    counted: CountedWork = counting.count_work(job.model)
    save_text(out / COUNTS_FILE, counted.model_dump_json())
