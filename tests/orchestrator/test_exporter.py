"""The versions in a graph's name are those of the environment that exports it."""

from importlib.metadata import version
from pathlib import Path

import pytest

import runner
from orchestrator.exporter import exporter_versions
from runner.graph import EXPORTERS
from runner.graph import exporter_versions as told_by_the_runner

PINS = """
# a comment
onnx-ir==1.1.0
onnx==1.23.2
torch==2.13.0; platform_machine == "x86_64"
numpy==2.4.6
"""


def test_containers_have_what_their_image_is_built_from(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(PINS)
    found = exporter_versions("docker", tmp_path / "requirements.txt")
    assert found == {"onnx": "1.23.2", "torch": "2.13.0"}


def test_the_checkouts_pins_name_every_library() -> None:
    assert set(exporter_versions("docker")) == set(EXPORTERS)


def test_without_a_checkout_the_images_version_stands_for_them(tmp_path: Path) -> None:
    assert exporter_versions("docker", tmp_path / "none") == {"image": runner.__version__}


def test_processes_have_what_is_installed() -> None:
    found = exporter_versions("process")
    assert set(found) <= set(EXPORTERS)
    assert all(version(name).partition("+")[0] == told for name, told in found.items())


@pytest.mark.torch
def test_the_runner_that_exports_tells_the_same() -> None:
    assert exporter_versions("process") == told_by_the_runner()
