"""Runs of jobs for measurements, without the command line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from orchestrator.launchers.base import Launcher
from orchestrator.matrix import load_matrix
from orchestrator.planning.plan import make_plan
from orchestrator.planning.schedule import schedule
from orchestrator.running.create import create_run
from orchestrator.running.execute_job import LaunchContext, execute_job
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import QuietObserver
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import RunSource
from runner.contract.cell import Selector


def write_matrix(folder: Path, axes: dict[str, Any], **rest: Any) -> Path:
    """A matrix file; its model `scripted` is for the fake backend."""
    scripted = {"name": "scripted", "family": "embedding", "size": "tiny", "modality": "text"}
    (folder / "models.yaml").write_text(yaml.safe_dump([{**scripted, "config": {}}]))
    path = folder / "matrix.yaml"
    path.write_text(yaml.safe_dump({"version": 1, "axes": axes, **rest}))
    return path


def run_jobs(
    matrix: Path, results: Path, launcher: Launcher, select: Sequence[str] = ()
) -> RunFolder:
    """Plan the matrix and run its jobs, from the file to the records."""
    plan = make_plan(load_matrix(matrix), selector=Selector(select))
    options = RunOptions(launcher=launcher.name, scratch=True)
    folder = create_run(plan, RunSource(matrix_path=matrix), results, options)
    context = LaunchContext(launcher, folder, QuietObserver())
    for job in schedule(plan, seed=0):
        provenance = launcher.prepare(job.cells[0].backend)
        execute_job(folder.job(job.cells, provenance, job.round), context)
    if set(folder.verdicts().values()) != {"ok"}:
        raise SystemExit(f"a cell failed: {folder.verdicts()}")
    return folder
