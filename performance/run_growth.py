"""Growth of the orchestrator's memory over a run of 2,000 cells of the fake backend.

The jobs are answered by a launcher that writes each record at once, so that nothing but the
orchestrator's own bookkeeping is seen. Memory is what is resident as the first and as the last
cell of the run ends; the merge, which is bounded by its batches, comes after and is shown too.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import ClassVar

import psutil

from orchestrator.backends.catalogue import LauncherName
from orchestrator.launchers.base import Exit, LocalLauncher, Task
from orchestrator.matrix import load_matrix
from orchestrator.planning.plan import make_plan
from orchestrator.running.create import create_run
from orchestrator.running.execution import RunExecution
from orchestrator.running.observer import QuietObserver
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import RunSource
from performance.jobs import write_matrix
from runner.contract.cell import Backend, Cell
from runner.contract.job import Job, Provenance
from runner.contract.record import Outcome, Record, save_record

CELLS = 2_000
MOST_BYTES = 50_000_000
_BATCHES = 200


class InstantLauncher(LocalLauncher):
    """Writes a failed record for each cell of a job, and prints what a runner prints."""

    name: ClassVar[LauncherName] = "process"
    needs_images: ClassVar[bool] = False

    def prepare(self, backend: Backend) -> Provenance:
        """Nothing is needed."""
        del backend
        return Provenance(launcher=self.name, orchestrator_version="0")

    @contextmanager
    def launch(self, task: Task) -> Iterator["InstantExecution"]:
        """The launch is over as it begins."""
        yield InstantExecution(task.job, task.out)

    def clean(self, devices: frozenset[str]) -> int:
        """Nothing is ever left."""
        del devices
        return 0


class InstantExecution:
    """A launch that has ended."""

    def __init__(self, job: Job, out: Path) -> None:
        self.lines: Queue[str | None] = Queue()
        for cell in job.cells:
            outcome = Outcome(status="failed", reason="a measurement of the host", phase="steady")
            save_record(Record.of(job, cell, outcome), out)
            self.lines.put(json.dumps({"event": "recorded", "cell_id": cell.id}))
        self.lines.put(None)

    def kill(self) -> None:
        """It has ended."""

    def wait(self) -> Exit:
        """It ended well."""
        return Exit(0, out_of_memory=False, log="")


class MemoryObserver(QuietObserver):
    """Looks at this process's memory as each cell ends."""

    def __init__(self) -> None:
        self.first_bytes: int | None = None
        self.last_bytes = 0
        self.cells = 0

    def run_started(self, estimates_s: Mapping[str, float]) -> None:
        """Nothing has been measured yet."""

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Note the memory."""
        del cell, record
        self.cells += 1
        self.last_bytes = psutil.Process().memory_info().rss
        if self.first_bytes is None:
            self.first_bytes = self.last_bytes


def main() -> int:
    """Measure and print; the exit code is 1 if the limit was passed."""
    with tempfile.TemporaryDirectory() as folder:
        observer = _run(Path(folder))
    if observer.cells != CELLS or observer.first_bytes is None:
        raise SystemExit(f"{observer.cells} of {CELLS} cells ended")
    growth = observer.last_bytes - observer.first_bytes
    merged = psutil.Process().memory_info().rss
    print(f"first cell   {observer.first_bytes / 1e6:6.0f} MB")
    print(f"last cell    {observer.last_bytes / 1e6:6.0f} MB")
    print(f"after merge  {merged / 1e6:6.0f} MB")
    print(f"growth       {growth / 1e6:6.1f} MB  (at most {MOST_BYTES / 1e6:.0f} MB)")
    print(json.dumps({"measurement": "run_growth", "cells": CELLS, "growth_bytes": growth}))
    return int(growth > MOST_BYTES)


def _run(folder: Path) -> MemoryObserver:
    axes = {
        "model": ["models.yaml"],
        "backend": "fake",
        "sequence_length": list(range(8, 8 + CELLS // _BATCHES)),
        "batch_size": list(range(1, _BATCHES + 1)),
    }
    plan = make_plan(load_matrix(write_matrix(folder, axes)))
    options = RunOptions(launcher="process", scratch=True)
    run = create_run(plan, RunSource(), folder / "results", options)
    observer = MemoryObserver()
    RunExecution(run, InstantLauncher(), observer, options).run()
    return observer


if __name__ == "__main__":
    sys.exit(main())
