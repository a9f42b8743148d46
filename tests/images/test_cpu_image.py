import json
import subprocess

import pytest

from orchestrator.checkout import ROOT
from orchestrator.images import Image
from orchestrator.images.image import SOURCE_LABEL
from tests.images.test_requirements import pins

pytestmark = pytest.mark.engine

PINS = {
    name: requirement
    for name, requirement in pins(ROOT / "images/cpu/requirements.txt").items()
    if requirement.marker is None or requirement.marker.evaluate()
}
LOOK = """
import importlib.metadata, importlib.util, json, os, pathlib, sys
import torch, transformers, runner.harness

def compiled(module):
    source = getattr(module, "__file__", None) or ""
    if not source.endswith(".py") or not os.path.exists(source):
        return True
    return os.path.exists(importlib.util.cache_from_source(source))

print(json.dumps({
    "cuda": torch.version.cuda,
    "torch": torch.__version__,
    "versions": {name: importlib.metadata.version(name) for name in sys.argv[1:]},
    "uncompiled": [name for name, module in list(sys.modules.items()) if not compiled(module)],
    "offline": [os.environ.get("HF_HUB_OFFLINE"), os.environ.get("TRANSFORMERS_OFFLINE")],
    "home": os.path.expanduser("~"),
    "packages": sorted(p.name for p in pathlib.Path.cwd().iterdir()),
    "user": os.getuid(),
}))
"""


@pytest.fixture(scope="module")
def facts(cpu_image: Image) -> dict[str, object]:
    image = cpu_image.id
    command = ["docker", "run", "--rm", "--network=none", "--read-only", "--tmpfs=/tmp"]
    done = subprocess.run(
        [*command, "--entrypoint=python", image, "-c", LOOK, *PINS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_torch_is_the_cpu_build(facts: dict[str, object]) -> None:
    assert facts["cuda"] is None
    assert str(facts["torch"]).endswith("+cpu")


def test_the_installed_versions_are_the_pinned_ones(facts: dict[str, object]) -> None:
    versions = facts["versions"]
    assert isinstance(versions, dict)
    assert all(PINS[name].specifier.contains(version) for name, version in versions.items())


def test_nothing_is_compiled_at_start(facts: dict[str, object]) -> None:
    assert facts["uncompiled"] == []


def test_it_never_asks_the_hub_and_needs_no_home(facts: dict[str, object]) -> None:
    assert facts["offline"] == ["1", "1"]
    assert facts["home"] == "/tmp"


def test_it_holds_the_runner_alone_and_is_not_root(facts: dict[str, object]) -> None:
    assert facts["packages"] == ["runner"]
    assert facts["user"] != 0


def test_it_says_what_it_is_made_of(cpu_image: Image) -> None:
    assert cpu_image.labels[SOURCE_LABEL].startswith("sha256:")


def test_it_starts_the_runner(cpu_image: Image) -> None:
    command = ["docker", "run", "--rm", "--network=none", cpu_image.id, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "python -m runner" in done.stdout
