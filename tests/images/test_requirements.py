"""The requirements of images: exact, complete, and the same versions everywhere."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from orchestrator.system.git import ROOT
from tests.images.pins import pins

FILES = sorted((ROOT / "images").glob("*/requirements.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_every_file_is_an_exact_list_that_setuptools_can_read_as_an_extra(path: Path) -> None:
    pinned, cpu = pins(path), pins(ROOT / "images/cpu/requirements.txt")
    for name, requirement in pinned.items():
        (specifier,) = requirement.specifier
        assert specifier.operator == "=="
        assert not {"*", "+"} & set(specifier.version)
        if path.parent.name in {"cuda", "rocm"}:
            assert name not in cpu or requirement.specifier == cpu[name].specifier
    assert not re.search(r"^\s*-|://", path.read_text(), re.MULTILINE)
    assert not {"docker", "duckdb", "lightgbm"} & set(pinned), "the host's packages"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_every_environment_is_pinned_to_its_last_dependency(path: Path) -> None:
    pinned = pins(path)
    for name in pinned:
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for requirement in map(Requirement, needed):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                dependency = pinned[canonicalize_name(requirement.name)]
                (specifier,) = dependency.specifier
                assert requirement.specifier.contains(specifier.version, prereleases=True)


def test_every_image_but_rocms_has_an_extra_and_a_target_of_make() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["tool"]["setuptools"]["dynamic"]["optional-dependencies"]
    makefile = (ROOT / "Makefile").read_text()
    images = {path.parent.name for path in FILES} - {"rocm"}
    assert set(extras) == {*images, "analysis", "dev", "fleet"}
    for image in images:
        assert extras[image] == {"file": f"images/{image}/requirements.txt"}
        assert re.search(rf"^{image}: \$\(BIN\)/\.{image} ## ", makefile, re.MULTILINE)
    # Tests install nothing for CUDA.
    assert re.findall(r"^STACKS := (.+)$", makefile, re.MULTILINE) == [
        "$(BIN)/.cpu $(BIN)/.openvino $(BIN)/.qnn $(BIN)/.browser"
    ]


RUNTIMES = {
    "cpu": ({"torch", "transformers", "onnxruntime"}, set[str](), None),
    "openvino": ({"openvino", "nncf"}, {"torch", "transformers", "onnx"}, None),
    "qnn": ({"onnxruntime", "onnxruntime-qnn", "onnx"}, {"torch", "transformers"}, None),
    "cuda": ({"torch", "transformers", "triton", "onnxruntime-gpu", "nvidia-ml-py"}, set(), "pypi"),
    "rocm": ({"torch", "transformers", "triton-rocm"}, set(), "rocm7.2"),
}
"""What an image's runner imports, what it must not hold, and the build of torch that it names."""


@pytest.mark.parametrize("image", RUNTIMES)
def test_the_runners_imports_are_pinned_and_no_more(image: str) -> None:
    imported, foreign, build = RUNTIMES[image]
    path = ROOT / "images" / image / "requirements.txt"
    assert {"numpy", "psutil", "pyarrow", "pydantic", *imported} <= set(pins(path))
    assert not foreign & set(pins(path))
    assert build is None or f"\n# torch build: {build}\n" in path.read_text()
