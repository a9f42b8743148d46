"""Memory and CPU of an orchestrator whose job prints without end, by each launcher.

A job prints 1 GiB without a line end, another one short lines until its time is over. The figures
are this process's, from the launch to the verdict: the peak of its own memory, what it held before
included, without the pages of libraries that it shares with others; the growth of all that is
resident; and its CPU time by the time that passed. Ends with 1 if a limit is broken.
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

from orchestrator.images import Image, ImageSettings, LocalImages
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.launchers.process import ProcessLauncher
from orchestrator.matrix import load_matrix
from orchestrator.planning.plan import make_plan
from orchestrator.running.create import create_run
from orchestrator.running.execute_job import LaunchContext, execute_job
from orchestrator.running.observer import QuietObserver
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import RunSource
from orchestrator.system.engine import connect_engine, engine_answers
from performance.jobs import write_matrix
from runner.contract.cell import Backend

MEMORY_LIMIT_BYTES = 200_000_000
CPU_LIMIT = 0.2
"""Of one core."""
FLOODS = {
    "1 GiB without a line end": "for _ in range(1 << 14): os.write(1, b'x' * (1 << 16))",
    "lines without end": "while True: os.write(1, b'{}\\n' * 10_000)",
    "1 GiB on stderr": "for _ in range(1 << 14): os.write(2, b'x' * (1 << 16))",
}
TIMEOUT = "90s"
LOOK_INTERVAL_S = 0.2
REFERENCE = "accelmatrix-flood:measured"


@dataclass(frozen=True)
class FloodedOrchestrator:
    """What a flood cost."""

    launcher: str
    flood: str
    seconds: float
    cpu_share: float
    """CPU time of this process by wall time."""
    memory_peak_bytes: int
    """Most of its own memory."""
    growth_bytes: int
    """Most that was resident, less what was before the launch."""

    @property
    def holds(self) -> bool:
        """True if it is within the limits."""
        return self.cpu_share <= CPU_LIMIT and self.memory_peak_bytes <= MEMORY_LIMIT_BYTES

    def report(self) -> None:
        """Print a plain line, then one of JSON."""
        print(
            f"{self.flood}, {self.launcher}: {self.memory_peak_bytes / 1e6:.0f} MB, "
            f"{self.growth_bytes / 1e6:.0f} MB more than before, "
            f"{self.cpu_share:.0%} of a core for {self.seconds:.0f} s"
        )
        print(json.dumps({"measurement": "output_flood", **self.__dict__}), flush=True)


class MemoryPeaks:
    """The peaks of this process's memory, looked at from time to time."""

    def __init__(self) -> None:
        self.own_bytes = self.resident_bytes = 0
        self._ended = Event()
        self._look()
        self.before_bytes = self.resident_bytes
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look for the last time."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_INTERVAL_S):
            self._look()
        self._look()

    def _look(self) -> None:
        memory = psutil.Process().memory_info()
        self.own_bytes = max(self.own_bytes, memory.rss - memory.shared)
        self.resident_bytes = max(self.resident_bytes, memory.rss)


@dataclass(frozen=True)
class FloodImages:
    """The image that floods, for every backend."""

    image: Image

    def ensure(self, backend: Backend) -> Image:
        """The same for each."""
        del backend
        return self.image


def measure_flood(flood: str, make_launcher: Callable[[str], Launcher]) -> FloodedOrchestrator:
    """Launch a job that floods, to its verdict."""
    launcher = make_launcher(f"import os\n{FLOODS[flood]}\n")
    with tempfile.TemporaryDirectory() as name:
        axes = {"model": ["models.yaml"], "backend": "fake", "sequence_length": 8}
        matrix = write_matrix(Path(name), axes, limits={"cell_timeout": TIMEOUT})
        plan = make_plan(load_matrix(matrix))
        options = RunOptions(launcher=launcher.name, scratch=True)
        source = RunSource(matrix_path=matrix)
        folder = create_run(plan, source, Path(name, "results"), options)
        job = folder.job(folder.cells, folder.nowhere)
        peaks, began, cpu_began = MemoryPeaks(), time.monotonic(), time.process_time()
        execute_job(job, LaunchContext(launcher, folder, QuietObserver()))
        took_s, cpu_s = time.monotonic() - began, time.process_time() - cpu_began
        peaks.end()
    growth = peaks.resident_bytes - peaks.before_bytes
    return FloodedOrchestrator(
        launcher.name, flood, took_s, cpu_s / took_s, peaks.own_bytes, growth
    )


@contextmanager
def flooding_processes() -> Iterator[Callable[[str], Launcher]]:
    """Makes process launchers whose runner executes a script."""
    with tempfile.TemporaryDirectory() as name:

        def make(script: str) -> Launcher:
            path = Path(name, "interpreter")
            path.write_text(f"#!{sys.executable}\n{script}")
            path.chmod(0o755)
            return ProcessLauncher(str(path))

        yield make


@contextmanager
def flooding_containers(client: DockerClient) -> Iterator[Callable[[str], Launcher]]:
    """Makes docker launchers in whose image the runner is a script."""
    base = LocalImages(client, ImageSettings(), lambda line: print(line, file=sys.stderr)).ensure(
        "fake"
    )

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


def main() -> int:
    """Measure and print."""
    results = []
    with flooding_processes() as make:
        results += [measure_flood(flood, make) for flood in FLOODS]
    if engine_answers():
        with flooding_containers(connect_engine()) as make:
            results += [measure_flood(flood, make) for flood in FLOODS]
    for result in results:
        result.report()
    return 0 if all(result.holds for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
