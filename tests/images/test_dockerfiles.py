"""The rules of every Dockerfile, whether its base can be had here or not."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from orchestrator.images.settings import BUILD_ARGUMENTS
from orchestrator.images.source import find_source
from orchestrator.system.git import ROOT

DOCKERFILES = sorted((ROOT / "images").glob("*/Dockerfile"))
INSTRUCTIONS = {"ARG", "FROM", "ENV", "RUN", "WORKDIR", "COPY", "USER", "ENTRYPOINT"}
"""All that our images need. No ADD, which unpacks and downloads; no ONBUILD, no VOLUME."""

Instruction = tuple[str, str]

assert {path.parent.name for path in DOCKERFILES} >= {"cpu", "cuda", "rocm", "openvino", "qnn"}
every = pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)


def instructions(path: Path) -> list[Instruction]:
    """Each instruction with its arguments, in one line."""
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    text = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    pairs = (line.partition(" ") for line in text.splitlines() if line.strip())
    return [(name, arguments.strip()) for name, _, arguments in pairs]


def arguments(path: Path, name: str) -> list[str]:
    return [text for instruction, text in instructions(path) if instruction == name]


@every
def test_it_builds_upon_one_base_of_a_fixed_version_that_can_be_replaced(path: Path) -> None:
    assert {name for name, _ in instructions(path)} <= INSTRUCTIONS
    first, second = instructions(path)[:2]
    assert re.fullmatch(r"BASE_IMAGE=\S+:\S*\d\S*", first[1])
    assert second == ("FROM", "${BASE_IMAGE}")
    assert len(arguments(path, "FROM")) == 1
    source = find_source(path.parent.name)
    assert source is not None
    assert f"BASE_IMAGE={source.base_image()}" == first[1]
    assert source.base_image() in json.loads((ROOT / "images/bases.json").read_text())
    assert {text.partition("=")[0] for text in arguments(path, "ARG")} <= set(BUILD_ARGUMENTS)


@every
def test_its_commands_are_shell_that_downloads_by_package_managers_and_leaves_nothing(
    path: Path,
) -> None:
    for command in arguments(path, "RUN"):
        checked = subprocess.run(["sh", "-n", "-c", command], capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr
        assert not re.search(r"\b(curl|wget|git|sudo)\b|://", command)
        assert "apt-get" not in command
        assert command.count("pip install") == command.count("--no-cache-dir")


@every
def test_it_copies_the_runner_alone_and_after_the_dependencies(path: Path) -> None:
    *dependencies, last = [text.rpartition(" ")[0] for text in arguments(path, "COPY")]
    image = f"images/{path.parent.name}/requirements*.txt"
    copied = " ".join(dependencies).replace("\\", "").split()
    assert copied[:3] == ["images/setup.sh", "images/install.py", image]
    web = "runner/backends/onnxruntime_web"
    browser = [f"{web}/install.py", f"{web}/package-lock.json"]
    assert copied[3:] == (browser if path.parent.name == "browser" else [])
    assert last == "runner"
    steps = re.findall(r"sh /tmp/install/setup\.sh (\w+)", " ".join(arguments(path, "RUN")))
    assert steps[-1] == "python"
    assert set(steps[:-1]) <= {"packages", "compiler"}


@every
def test_it_runs_as_nobody_without_a_home_or_a_shell_on_a_read_only_root(path: Path) -> None:
    assert arguments(path, "USER") == ["65534:65534"]
    assert instructions(path)[-1][0] == "ENTRYPOINT"
    assert json.loads(arguments(path, "ENTRYPOINT")[0])[-2:] == ["-m", "runner"]
    variables = " ".join(arguments(path, "ENV")).split()
    assert {"HOME=/tmp", "LOGNAME=runner", "PYTHONDONTWRITEBYTECODE=1"} <= set(variables)
    assert arguments(path, "RUN")[-1].startswith("python -m compileall")
