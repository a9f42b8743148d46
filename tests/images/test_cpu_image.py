"""The image that torch executes in."""

import subprocess

import pytest

from orchestrator.images import Image
from orchestrator.images.image import SOURCE_LABEL
from tests.images.look import Look, look
from tests.images.pins import pinned_here

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def facts(cpu_image: Image) -> Look:
    return look(cpu_image, "cpu", ["torch", "transformers", "runner.job.harness"])


@pytest.mark.slow
def test_torch_is_the_cpu_build(facts: Look) -> None:
    assert facts.versions["torch"].endswith("+cpu")
    assert not [name for name in facts.installed if name.startswith("nvidia")]


def test_the_installed_versions_are_the_pinned_ones(facts: Look) -> None:
    pinned = pinned_here("cpu")
    assert all(pinned[name].specifier.contains(found) for name, found in facts.versions.items())


def test_nothing_is_compiled_at_start(facts: Look) -> None:
    assert facts.uncompiled == []


def test_it_never_asks_the_hub_and_needs_no_home(facts: Look) -> None:
    assert facts.environment["HF_HUB_OFFLINE"] == "1"
    assert facts.environment["TRANSFORMERS_OFFLINE"] == "1"
    assert facts.home == "/tmp"


def test_it_holds_the_runner_alone_and_is_not_root(facts: Look) -> None:
    assert facts.packages == ["runner"]
    assert facts.user != 0


def test_it_says_what_it_is_made_of(cpu_image: Image) -> None:
    assert cpu_image.labels[SOURCE_LABEL].startswith("sha256:")


def test_it_starts_the_runner(cpu_image: Image) -> None:
    command = ["docker", "run", "--rm", "--network=none", cpu_image.id, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "python -m runner" in done.stdout
