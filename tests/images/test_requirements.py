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
    pinned = pins(path)
    for requirement in pinned.values():
        (specifier,) = requirement.specifier
        assert specifier.operator == "=="
        assert not {"*", "+"} & set(specifier.version)
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
    assert set(extras) == {*images, "dev"}
    for image in images:
        assert extras[image] == {"file": f"images/{image}/requirements.txt"}
        assert re.search(rf"^{image}: \$\(BIN\)/\.{image} ## ", makefile, re.MULTILINE)


def test_tests_install_nothing_for_cuda() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (stacks,) = re.findall(r"^STACKS := (.+)$", makefile, re.MULTILINE)
    assert stacks.split() == ["$(BIN)/.cpu", "$(BIN)/.openvino", "$(BIN)/.qnn"]


RUNTIMES = {
    "cpu": {"torch", "transformers", "onnxruntime"},
    "openvino": {"openvino", "nncf"},
    "qnn": {"onnxruntime", "onnxruntime-qnn", "onnx"},
    "cuda": {"torch", "transformers", "triton", "onnxruntime-gpu", "nvidia-ml-py"},
    "rocm": {"torch", "transformers", "triton-rocm"},
}


@pytest.mark.parametrize("image", RUNTIMES)
def test_the_runners_imports_are_pinned(image: str) -> None:
    imported = {"numpy", "psutil", "pyarrow", "pydantic", *RUNTIMES[image]}
    assert imported <= set(pins(ROOT / "images" / image / "requirements.txt"))


@pytest.mark.parametrize(
    ("image", "foreign"),
    [("openvino", {"torch", "transformers", "onnx"}), ("qnn", {"torch", "transformers"})],
)
def test_images_of_prepared_graphs_hold_no_torch_and_onnx_only_where_graphs_are_rewritten(
    image: str, foreign: set[str]
) -> None:
    assert not foreign & set(pins(ROOT / "images" / image / "requirements.txt"))


@pytest.mark.parametrize(("image", "build"), [("cuda", "pypi"), ("rocm", "rocm7.2")])
def test_the_file_names_the_build_of_torch_that_it_is_for(image: str, build: str) -> None:
    text = (ROOT / "images" / image / "requirements.txt").read_text()
    assert f"\n# torch build: {build}\n" in text


def test_accelerators_share_the_versions_that_the_cpu_has() -> None:
    cpu = pins(ROOT / "images/cpu/requirements.txt")
    for image in ("cuda", "rocm"):
        for name, requirement in pins(ROOT / "images" / image / "requirements.txt").items():
            assert name not in cpu or requirement.specifier == cpu[name].specifier
