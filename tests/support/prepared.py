"""Prepared graphs of tiny models, exported by the runner's own code when a test first needs one."""

from pathlib import Path

from filelock import FileLock

from runner.contract.artifact_keys import GRAPHS, graph_key
from runner.contract.graph import graph_kind, number_format
from runner.contract.job import Job
from runner.job.prepare import prepare_graphs
from runner.measure.clock import monotonic
from tests.support.fakes import KeptProgress


class PreparedGraphs:
    """A folder of graphs that fills itself."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        """The folder that sessions get as `graphs`."""

    def named(self, job: Job) -> Job:
        """The job with its graph, which lies in the folder from now on."""
        cell = job.cells[0]
        content, numbers = graph_kind(cell), number_format(cell)
        made_by = GRAPHS.versions(GRAPHS.installed())
        key = graph_key(job.model, content, numbers, job.weights_seed, made_by)
        named = job.model_copy(update={"graph": key})
        with FileLock(self.folder / f"{key}.lock"):  # other workers may want it now
            if not (self.folder / key).exists():
                prepare_graphs(named, self.folder, KeptProgress(), monotonic)
        return named
