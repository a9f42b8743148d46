"""The built images: pinned versions, the runner alone, and nothing compiled at start."""

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from orchestrator.images.image import SOURCE_LABEL, Image
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.store.records.validate import read_record
from orchestrator.system.engine import connect_engine
from runner.contract.axes import Backend
from tests.images.pins import pinned_here
from tests.support.jobs import OneImage, a_task
from tests.support.onnx_graphs import layer, save_graph
from tests.support.openvino_models import openvino_cell, openvino_job

pytestmark = [pytest.mark.engine, pytest.mark.slow]

MODULES = {
    "cpu": ["torch", "transformers"],
    "openvino": ["runner.backends.openvino"],
    "qnn": ["runner.backends.onnxruntime"],
    "browser": ["runner.backends.onnxruntime_web.backend"],
}
BACKEND_OF: Mapping[str, Backend] = {"browser": "wasm"}
"""A backend of each image that has another name."""
RUN = ("docker", "run", "--rm", "--network=none", "--read-only", "--tmpfs=/tmp")
LOOK = """
import importlib, importlib.metadata, importlib.util, json, os, pathlib, sys
modules, names = (json.loads(argument) for argument in sys.argv[1:])
for module in modules:
    importlib.import_module(module)

def compiled(module):
    source = getattr(module, "__file__", None) or ""
    if not source.endswith(".py") or not os.path.exists(source):
        return True
    return os.path.exists(importlib.util.cache_from_source(source))

print(json.dumps({
    "versions": {name: importlib.metadata.version(name) for name in names},
    "installed": sorted(d.metadata["Name"].lower() for d in importlib.metadata.distributions()),
    "uncompiled": [name for name, module in list(sys.modules.items()) if not compiled(module)],
    "environment": dict(os.environ),
    "home": os.path.expanduser("~"),
    "packages": sorted(p.name for p in pathlib.Path.cwd().iterdir()),
    "user": os.getuid(),
}))
"""

BuiltImage = Callable[[Backend], Image]


@pytest.fixture(
    scope="module",
    params=[
        "cpu",
        "openvino",
        pytest.param("qnn", marks=pytest.mark.nightly),
        pytest.param("browser", marks=pytest.mark.nightly),
    ],
)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def image(name: str, built_image: BuiltImage) -> Image:
    return built_image(BACKEND_OF.get(name, cast("Backend", name)))


@pytest.fixture(scope="module")
def facts(name: str, image: Image) -> SimpleNamespace:
    """The account of a container that imports the image's modules, made as a job's is."""
    arguments = [json.dumps([*MODULES[name], "runner.job.harness"])]
    arguments.append(json.dumps(list(pinned_here(name))))
    command = [*RUN, "--entrypoint=python", image.id, "-c", LOOK, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return SimpleNamespace(**json.loads(done.stdout))


def test_the_pinned_versions_are_installed_and_torch_is_the_cpu_build(
    facts: SimpleNamespace, name: str
) -> None:
    pinned = pinned_here(name)
    assert all(pinned[pin].specifier.contains(found) for pin, found in facts.versions.items())
    if name == "cpu":
        assert facts.versions["torch"].endswith("+cpu")
        assert not [found for found in facts.installed if found.startswith("nvidia")]
        offline = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
        assert {facts.environment.get(variable) for variable in offline} == {"1"}
    else:
        tools = {"pip", "setuptools", "wheel"}
        assert {found.replace("_", "-") for found in facts.installed} - tools == set(pinned)


def test_it_holds_the_runner_alone_compiled_and_is_nobody_without_a_home(
    facts: SimpleNamespace,
) -> None:
    assert (facts.packages, facts.uncompiled, facts.home) == (["runner"], [], "/tmp")
    assert facts.user != 0


def test_it_says_what_it_is_made_of_and_starts_the_runner(image: Image) -> None:
    assert image.labels[SOURCE_LABEL].startswith("sha256:")
    done = subprocess.run([*RUN, image.id, "--help"], capture_output=True, text=True, check=False)
    assert "python -m runner" in done.stdout


def test_openvino_executes_a_graph_in_its_container(
    built_image: BuiltImage, tmp_path: Path
) -> None:
    cell = openvino_cell(2)
    graphs = tmp_path / "graphs"
    save_graph(graphs, {"forward": layer()})
    task = replace(a_task(tmp_path, openvino_job(cell)), graphs=graphs)
    images = OneImage(built_image("openvino"))
    with DockerLauncher(connect_engine(), images).launch(task) as execution:
        end = execution.wait()
    assert end.code == 0, end.log
    record = read_record(task.out / f"{cell.id}.parquet")
    assert (record.status, record.reason_code, record.proof) == ("ok", None, "proven")
    assert record.inference_precision == "f32"
