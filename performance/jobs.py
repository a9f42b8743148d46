"""Jobs as a run executes them, for measurements."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from orchestrator.attempt import Surroundings
from orchestrator.begin import Origin, Terms, begin
from orchestrator.devices import LauncherName
from orchestrator.launchers.base import Launcher
from orchestrator.matrix import load_matrix
from orchestrator.observer import QuietObserver
from orchestrator.plan import make_plan
from orchestrator.run_folder import RunFolder
from orchestrator.schedule import schedule
from orchestrator.selector import Selector
from orchestrator.supervise import supervise


def write_matrix(folder: Path, axes: dict[str, Any], **rest: Any) -> Path:
    """A matrix file; a model named `scripted` does whatever the fake backend is told."""
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
    name: LauncherName = "docker" if launcher.name == "docker" else "process"
    terms = Terms(name, scratch=True)
    folder = begin(plan, Origin(path=matrix), results, terms)
    surroundings = Surroundings(launcher, folder, QuietObserver())
    for job in schedule(plan, seed=0):
        provenance = launcher.prepare(job.cells[0].backend)
        supervise(folder.job(job.cells, provenance, job.round), surroundings)
    if set(folder.verdicts().values()) != {"ok"}:
        raise SystemExit(f"a cell failed: {folder.verdicts()}")
    return folder
