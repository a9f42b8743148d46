"""Growth of the orchestrator's memory over a run of 2,000 cells of the fake backend.

The launches are scripted: each record is written at once, so that nothing but the orchestrator's
own bookkeeping is seen. Memory is what is resident as the first and as the last cell of the run
ends; the merge, which is bounded by its batches, comes after and is shown too.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from queue import Queue

import psutil

from orchestrator.launchers.base import Exit
from orchestrator.matrix import load_matrix
from orchestrator.planning.plan import RunSource, make_plan
from orchestrator.running.create import create_run
from orchestrator.running.execution import RunExecution
from orchestrator.running.observer import QuietObserver
from orchestrator.running.options import RunOptions
from performance.scratch import write_matrix
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.contract.record.files import save_record
from runner.contract.record.quality import Outcome
from runner.contract.record.record import Record
from tests.support.fakes import ScriptedLauncher, finish

CELLS, BATCHES = 2_000, 200
MOST_BYTES = 50_000_000


class MemoryObserver(QuietObserver):
    """Looks at this process's memory as each cell ends."""

    def __init__(self) -> None:
        self.first_bytes = self.last_bytes = self.cells = 0

    def run_started(self, estimates_s: Mapping[str, float]) -> None:
        """Nothing has been measured yet."""

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Note the memory."""
        del cell, record
        self.cells += 1
        self.last_bytes = resident_bytes()
        self.first_bytes = self.first_bytes or self.last_bytes


def resident_bytes() -> int:
    """Resident memory of this process."""
    return int(psutil.Process().memory_info().rss)


def main() -> int:
    """Measure and print; the exit code is 1 if the limit was passed."""
    observer = MemoryObserver()
    with tempfile.TemporaryDirectory() as folder:
        _run(Path(folder), observer)
    if observer.cells != CELLS:
        raise SystemExit(f"{observer.cells} of {CELLS} cells ended")
    growth = observer.last_bytes - observer.first_bytes
    print(f"first cell   {observer.first_bytes / 1e6:6.0f} MB")
    print(f"last cell    {observer.last_bytes / 1e6:6.0f} MB")
    print(f"after merge  {resident_bytes() / 1e6:6.0f} MB")
    print(f"growth       {growth / 1e6:6.1f} MB  (at most {MOST_BYTES / 1e6:.0f} MB)")
    print(json.dumps({"measurement": "run_growth", "cells": CELLS, "growth_bytes": growth}))
    return int(growth > MOST_BYTES)


def _run(folder: Path, observer: MemoryObserver) -> None:
    axes = {
        "model": ["models.yaml"],
        "backend": "fake",
        "sequence_length": list(range(8, 8 + CELLS // BATCHES)),
        "batch_size": list(range(1, BATCHES + 1)),
    }
    plan = make_plan(load_matrix(write_matrix(folder, axes)))
    options = RunOptions(launcher="process", scratch=True)
    run = create_run(plan, RunSource(), folder / "results", options)
    RunExecution(run, ScriptedLauncher(_fail), observer, options).run()


def _fail(job: Job, out: Path, lines: "Queue[str | None]") -> Exit:
    """Write a failed record for each cell, and print what a runner prints."""
    for cell in job.cells:
        outcome = Outcome.because(
            "failed", reason("said", text="a measurement of the host"), "steady"
        )
        save_record(Record.of(job, cell, outcome), out)
        lines.put(json.dumps({"event": "recorded", "cell_id": cell.id}))
    return finish(lines)


if __name__ == "__main__":
    sys.exit(main())
