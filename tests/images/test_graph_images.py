"""The images that execute prepared graphs: they hold a runtime, and no torch."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.images import Image
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.system.engine import connect_engine
from runner.contract.cell import Backend
from runner.contract.record import read_record
from tests.images.look import Look, look
from tests.images.pins import pinned_here
from tests.support.jobs import a_task
from tests.support.onnx_graphs import layer, save_graph
from tests.support.openvino_models import openvino_cell, openvino_job

pytestmark = pytest.mark.engine

MODULES = {
    "openvino": "runner.backends.openvino",
    "qnn": "runner.backends.onnxruntime",
}

BuiltImage = Callable[[Backend], Image]


class Images:
    """Images that are built already."""

    def __init__(self, built: BuiltImage) -> None:
        self._built = built

    def ensure(self, backend: Backend) -> Image:
        """The backend's image."""
        return self._built(backend)


@pytest.fixture(scope="module", params=MODULES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def facts(name: Backend, built_image: BuiltImage) -> Look:
    return look(built_image(name), name, [MODULES[name], "runner.job.harness"])


@pytest.mark.slow
def test_the_installed_versions_are_the_pinned_ones_and_nothing_else(
    facts: Look, name: str
) -> None:
    pinned = pinned_here(name)
    assert all(pinned[pin].specifier.contains(found) for pin, found in facts.versions.items())
    tools = {"pip", "setuptools", "wheel"}
    assert {found.replace("_", "-") for found in facts.installed} - tools == set(pinned)


def test_nothing_is_compiled_at_start(facts: Look) -> None:
    assert facts.uncompiled == []


def test_it_holds_the_runner_alone_and_is_nobody_without_a_home(facts: Look) -> None:
    assert facts.packages == ["runner"]
    assert facts.user != 0
    assert facts.home == "/tmp"


@pytest.mark.slow
def test_openvino_executes_a_graph_in_its_container(
    built_image: BuiltImage, tmp_path: Path
) -> None:
    cell = openvino_cell(2)
    job = openvino_job(cell)
    graphs = tmp_path / "graphs"
    save_graph(graphs, {"forward": layer()})
    task = replace(a_task(tmp_path, job), graphs=graphs)
    with DockerLauncher(connect_engine(), Images(built_image)).launch(task) as execution:
        end = execution.wait()
    assert end.code == 0, end.log
    record = read_record(task.out / f"{cell.id}.parquet")
    assert (record.status, record.reason, record.proof) == ("ok", None, "proven")
    assert record.inference_precision == "f32"
