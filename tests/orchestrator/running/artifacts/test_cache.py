"""The versions in the names of graphs and references are those of where they are made."""

from importlib.metadata import version
from pathlib import Path

import pytest

from orchestrator.running.artifacts.cache import versions_of
from runner.contract.artifact_keys import GRAPHS, REFERENCES, Producer, fingerprint

PINS = """
# a comment
onnx-ir==1.1.0
onnx==1.23.2
torch==2.13.0; platform_machine == "x86_64"
numpy==2.4.6
"""
CODE = {"runner": fingerprint(GRAPHS)}

both = pytest.mark.parametrize("producer", [GRAPHS, REFERENCES])


def test_containers_have_what_their_image_is_built_from(tmp_path: Path) -> None:
    pins = tmp_path / "requirements.txt"
    pins.write_text(PINS)
    assert (
        versions_of(GRAPHS, in_images=True, pins=pins)
        == {"onnx": "1.23.2", "torch": "2.13.0"} | CODE
    )


@both
def test_the_checkouts_pins_name_every_library(producer: Producer) -> None:
    assert set(versions_of(producer, in_images=True)) == {*producer.libraries, "runner"}


@both
def test_processes_have_what_is_installed(producer: Producer) -> None:
    libraries = versions_of(producer, in_images=False)
    assert libraries.pop("runner") == fingerprint(producer)
    assert set(libraries) <= set(producer.libraries)
    assert all(version(name).partition("+")[0] == told for name, told in libraries.items())
