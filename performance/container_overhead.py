"""What AccelMatrix adds to one job in a container, against `docker run --rm` of the same.

Ours: plan → create → start → collect → remove, in this process, with the fake backend. The
baseline is given the same image, command, limits and mounts. The two take turns, and their
medians are compared.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from orchestrator.begin import Origin, begin
from orchestrator.engine import connect
from orchestrator.images import ImageSettings, Shelf
from orchestrator.launchers.container import default_memory_bytes
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.matrix import load_matrix
from orchestrator.plan import make_plan
from orchestrator.run_folder import RunFolder
from orchestrator.schedule import schedule
from orchestrator.supervise import supervise
from runner.cell import Cell, Job
from runner.record import Phase, Record

ROUNDS = 11
LIMIT = 1.25


@dataclass(frozen=True)
class Quiet:
    """An observer that says nothing, so that no terminal is measured."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def job_started(self, job: Job) -> None:
        """Say nothing."""

    def phase_began(self, job: Job, phase: Phase, cell: Cell | None) -> None:
        """Say nothing."""

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Say nothing."""


def main() -> int:
    """Measure and print; the exit status is 0 whatever the ratio is."""
    client = connect()
    shelf = Shelf(client, ImageSettings(), print)
    image = shelf.ensure("fake")
    memory = default_memory_bytes(client.info()["MemTotal"])
    launcher = DockerLauncher(client, shelf)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        matrix = write_matrix(folder)
        command = docker_run(image.id, memory, run_job(matrix, folder / "results", launcher))
        ours, theirs = measure(
            lambda: run_job(matrix, folder / "results", launcher),
            lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL),
        )
    report(ours, theirs)
    return 0


def measure(
    ours: Callable[[], object], theirs: Callable[[], object]
) -> tuple[list[float], list[float]]:
    """Seconds of each round of either way, after one round that is thrown away."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS + 1)][1:]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def seconds(action: Callable[[], object]) -> float:
    """Wall seconds of one action."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def run_job(matrix: Path, results: Path, launcher: DockerLauncher) -> RunFolder:
    """One job as a run does it, from the matrix file to its record."""
    plan = make_plan(load_matrix(matrix))
    folder = begin(plan, Origin(path=matrix), results, "docker", seed=0, scratch=True)
    (planned,) = schedule(plan, seed=0)
    supervise(folder.job(planned.cells, launcher.prepare("fake")), launcher, folder, Quiet())
    if set(folder.verdicts().values()) != {"ok"}:
        raise SystemExit(f"the job failed: {folder.verdicts()}")
    return folder


def docker_run(image: str, memory: int, finished: RunFolder) -> list[str]:
    """The same job again, by the docker command."""
    (job_file,) = finished.path.glob("jobs/*.json")
    out = finished.path / "again"
    out.mkdir()
    return [
        *("docker", "run", "--rm", "--init", "--network", "none", "--read-only"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", "4096"),
        *("--user", f"{os.getuid()}:{os.getgid()}", "--memory", str(memory)),
        *("--memory-swap", str(memory), "--tmpfs", "/tmp:rw,nosuid,nodev,size=1g,mode=1777"),
        *("--mount", f"type=bind,src={job_file.resolve()},dst=/in/job.json,readonly"),
        *("--mount", f"type=bind,src={out.resolve()},dst=/out"),
        *(image, "--job", "/in/job.json", "--out", "/out"),
    ]


def write_matrix(folder: Path) -> Path:
    """A matrix of one short cell."""
    model = {"name": "scripted", "family": "embedding", "size": "tiny", "modality": "text"}
    (folder / "models.yaml").write_text(yaml.safe_dump([{**model, "config": {}}]))
    matrix = {
        "version": 1,
        "axes": {"model": ["models.yaml"], "backend": "fake", "sequence_length": 8},
        "measure": {"iterations": 3, "min_duration": "0s", "warmup_max_duration": "50ms"},
    }
    path = folder / "matrix.yaml"
    path.write_text(yaml.safe_dump(matrix))
    return path


def report(ours: Sequence[float], theirs: Sequence[float]) -> None:
    """Plain lines, then the same as JSON."""
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"docker run --rm:    {statistics.median(theirs):.3f} s (median of {ROUNDS})")
    print(f"job by AccelMatrix: {statistics.median(ours):.3f} s (median of {ROUNDS})")
    print(f"ratio:              {ratio:.2f} (at most {LIMIT})")
    print(
        json.dumps(
            {
                "measurement": "container_overhead",
                "ratio": round(ratio, 3),
                "limit": LIMIT,
                "docker_run_s": [round(value, 4) for value in theirs],
                "job_s": [round(value, 4) for value in ours],
            }
        )
    )


if __name__ == "__main__":
    sys.exit(main())
