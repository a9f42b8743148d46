"""Overhead of one job in a container, against `docker run --rm` of the same.

Ours: plan → create → start → collect → remove, in this process, with the fake backend. The
baseline is given the same image, command, limits and mounts.
"""

import os
import subprocess
import tempfile
from pathlib import Path

from orchestrator.backends.machine import default_memory_bytes
from orchestrator.images import ImageSettings, LocalImages
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.running.folder import RunFolder
from orchestrator.system.engine import connect_engine
from performance.comparison import compare
from performance.jobs import run_jobs, write_matrix

ROUNDS = 11
LIMIT = 1.25


def main() -> None:
    """Measure and print."""
    client = connect_engine()
    images = LocalImages(client, ImageSettings(), print)
    image = images.ensure("fake")
    memory = default_memory_bytes(client.info()["MemTotal"])
    launcher = DockerLauncher(client, images)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        matrix = write_matrix(
            folder,
            {"model": ["models.yaml"], "backend": "fake", "sequence_length": 8},
            measure={"iterations": 3, "min_duration": "0s", "warmup_max_duration": "50ms"},
        )
        first = run_jobs(matrix, folder / "results", launcher)
        command = docker_run(image.id, memory, first)
        compare(
            "container_overhead",
            lambda: run_jobs(matrix, folder / "results", launcher),
            lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL),
            ROUNDS,
            LIMIT,
        ).report("job by AccelMatrix", "docker run --rm")


def docker_run(image: str, memory: int, finished: RunFolder) -> list[str]:
    """Command line of docker that executes the same job again."""
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


if __name__ == "__main__":
    main()
