"""The docker launcher with a scripted image: a job file is the Python that its runner executes."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest
from docker import DockerClient

from orchestrator.images.image import Image
from orchestrator.launchers.base import Exit, Task
from orchestrator.launchers.docker import DockerExecution, DockerLauncher
from runner.contract.axes import Backend
from runner.contract.job import Limits
from tests.support.jobs import OneImage, a_job, a_task, fake_cell
from tests.support.proxy import EngineProxy

TEST_HOST = "a-test"
IDS = {"run_id": "run-1", "id": "job-1"}
MIB = 1 << 20


def trial_image(id_: str) -> OneImage:
    return OneImage(Image("accelmatrix-trial:1", id_, id_, {"label": "value"}, "amd64", 0, ""))


@dataclass(frozen=True)
class Bench:
    """Launches scripts."""

    client: DockerClient
    launcher: DockerLauncher
    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def task(
        self,
        script: str,
        backend: Backend = "fake",
        limits: Limits | None = None,
        **changes: object,
    ) -> Task:
        job = a_job([fake_cell(backend=backend)], limits=limits)
        return a_task(self.folder, job.model_copy(update=IDS | changes), dedent(script))

    def launch(
        self, script: str, limits: Limits | None = None
    ) -> AbstractContextManager[DockerExecution]:
        return self.launcher.launch(self.task(script, limits=limits))

    def run(self, script: str, limits: Limits | None = None) -> tuple[list[str], Exit]:
        with self.launch(script, limits) as execution:
            return list(iter(execution.lines.get, None)), execution.wait()

    def containers(self) -> list[str]:
        """The names of all containers of these tests that the engine still has."""
        label = f"org.accelmatrix.host={TEST_HOST}"
        found = self.client.api.containers(all=True, filters={"label": label})
        return [container["Names"][0].lstrip("/") for container in found]


@pytest.fixture
def bench(client: DockerClient, script_image: str, tmp_path: Path) -> Iterator[Bench]:
    """The real engine. Every test leaves it as it was."""
    launcher = DockerLauncher(client, trial_image(script_image), host=TEST_HOST)
    bench = Bench(client, launcher, tmp_path)
    yield bench
    leftover = bench.containers()
    for name in leftover:
        client.api.remove_container(name, force=True)
    assert leftover == []


@pytest.fixture
def cut_bench(bench: Bench, script_image: str, proxy: EngineProxy) -> Iterator[Bench]:
    """A bench that reaches the engine through the proxy; `bench` cleans up behind it."""
    client = DockerClient(base_url=f"unix://{proxy.path}", version="auto", timeout=10)
    yield Bench(
        client, DockerLauncher(client, trial_image(script_image), host=TEST_HOST), bench.folder
    )
    client.close()
