"""Memory and CPU of an orchestrator whose job prints without end, by each launcher.

A job prints 1 GiB without a line end, another one short lines until its time is over. The figures
are this process's, from the launch to the verdict: the peak of its own memory, what it held before
included, without the pages of libraries that it shares with others, and its CPU time by the time
that passed. Ends with 1 if a limit is broken.
"""

import io
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread

import psutil
from docker import DockerClient

from orchestrator.images.image import Image
from orchestrator.images.local_images import LocalImages
from orchestrator.images.settings import ImageSettings
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.launchers.process import ProcessLauncher
from orchestrator.matrix import load_matrix
from orchestrator.planning.plan import RunSource, make_plan
from orchestrator.running.create import create_run
from orchestrator.running.execute_job import JobExecution, LaunchContext
from orchestrator.running.observer import QuietObserver
from orchestrator.running.options import RunOptions
from orchestrator.system.engine import connect_engine, engine_answers
from performance.scratch import write_matrix
from runner.contract.axes import Backend

MOST_BYTES, MOST_CPU = 200_000_000, 0.2
"""Of memory, and of one core."""
FLOODS = {
    "1 GiB without a line end": "for _ in range(1 << 14): os.write(1, b'x' * (1 << 16))",
    "lines without end": "while True: os.write(1, b'{}\\n' * 10_000)",
    "1 GiB on stderr": "for _ in range(1 << 14): os.write(2, b'x' * (1 << 16))",
}
LOOK_INTERVAL_S = 0.2
REFERENCE = "accelmatrix-flood:measured"
MakeLauncher = Callable[[str], Launcher]
"""A launcher whose runner is a script of Python."""


def main() -> int:
    """Measure and print; 1 if a limit is broken."""
    with flooding_processes() as make:
        held = [measure_flood(flood, make) for flood in FLOODS]
    if engine_answers():
        with flooding_containers(connect_engine()) as make:
            held += [measure_flood(flood, make) for flood in FLOODS]
    return 0 if all(held) else 1


def measure_flood(flood: str, make_launcher: MakeLauncher) -> bool:
    """Launch a job that floods, to its verdict; true if the limits hold."""
    launcher = make_launcher(f"import os\n{FLOODS[flood]}\n")
    with tempfile.TemporaryDirectory() as name:
        axes = {"model": ["models.yaml"], "backend": "fake", "sequence_length": 8}
        matrix = write_matrix(Path(name), axes, limits={"cell_timeout": "90s"})
        plan = make_plan(load_matrix(matrix))
        options = RunOptions(launcher=launcher.name, scratch=True)
        folder = create_run(plan, RunSource(matrix_path=matrix), Path(name, "results"), options)
        job = folder.run.job(folder.cells, folder.nowhere)
        with _peak_bytes() as peak:
            began, cpu_began = time.monotonic(), time.process_time()
            JobExecution(job, LaunchContext(launcher, folder, QuietObserver())).execute()
            took_s, cpu_s = time.monotonic() - began, time.process_time() - cpu_began
    share, most = cpu_s / took_s, max(peak)
    print(
        f"{flood}, {launcher.name}: {most / 1e6:.0f} MB, {share:.0%} of a core for {took_s:.0f} s"
    )
    data = {"measurement": "output_flood", "launcher": launcher.name, "flood": flood}
    print(json.dumps({**data, "seconds": took_s, "cpu": share, "bytes": most}), flush=True)
    return share <= MOST_CPU and most <= MOST_BYTES


@contextmanager
def _peak_bytes() -> Iterator[list[int]]:
    """This process's own memory, looked at again and again until the end of the context."""
    seen, ended = list[int](), Event()

    def look() -> None:
        while True:
            memory = psutil.Process().memory_info()
            seen.append(memory.rss - memory.shared)
            if ended.wait(LOOK_INTERVAL_S):
                return

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


@contextmanager
def flooding_processes() -> Iterator[MakeLauncher]:
    """Makes process launchers whose runner executes a script."""
    with tempfile.TemporaryDirectory() as name:

        def make(script: str) -> Launcher:
            path = Path(name, "interpreter")
            path.write_text(f"#!{sys.executable}\n{script}")
            path.chmod(0o755)
            return ProcessLauncher(str(path))

        yield make


@dataclass(frozen=True)
class FloodImages:
    """The image that floods, for every backend."""

    image: Image

    def ensure(self, backend: Backend) -> Image:
        """The same for each."""
        del backend
        return self.image


@contextmanager
def flooding_containers(client: DockerClient) -> Iterator[MakeLauncher]:
    """Makes docker launchers in whose image the runner is a script."""
    images = LocalImages(client, ImageSettings(), lambda line: print(line, file=sys.stderr))
    base = images.ensure("fake")

    def make(script: str) -> Launcher:
        entry = json.dumps(["python", "-c", script])
        recipe = io.BytesIO(f"FROM {base.id}\nENTRYPOINT {entry}\n".encode())
        image, _ = client.images.build(fileobj=recipe, tag=REFERENCE, rm=True)
        flooding = replace(base, reference=REFERENCE, id=image.id, digest=image.id)
        return DockerLauncher(client, FloodImages(flooding))

    try:
        yield make
    finally:
        client.images.remove(REFERENCE, force=True)


if __name__ == "__main__":
    sys.exit(main())
