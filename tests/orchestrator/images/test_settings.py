"""The names of images, and the settings that the environment gives."""

from pathlib import Path

import pytest

from orchestrator.images.settings import ImageSettings, image_name
from orchestrator.screen.words.reasons import error_hint
from runner.contract.errors import Unavailable, UsageError
from tests.support.words import raises_words


def test_the_environment_gives_registry_and_build_arguments() -> None:
    settings = ImageSettings.from_environment(
        {
            "ACCELMATRIX_REGISTRY": "localhost:5000",
            "ACCELMATRIX_BASE_IMAGE": "mirror/python:3.11",
            "ACCELMATRIX_PIP_INDEX_URL": "https://mirror/simple",
            "ACCELMATRIX_TORCH_INDEX_URL": "",
            "PIP_EXTRA_INDEX_URL": "not ours",
        },
        revision="abc",
    )
    assert settings.registry == "localhost:5000"
    assert settings.revision == "abc"
    assert settings.build_args == {
        "BASE_IMAGE": "mirror/python:3.11",
        "PIP_INDEX_URL": "https://mirror/simple",
    }


def test_an_image_may_have_a_base_of_its_own() -> None:
    settings = ImageSettings.from_environment(
        {
            "ACCELMATRIX_BASE_IMAGE": "mirror/python:3.11",
            "ACCELMATRIX_ROCM_BASE_IMAGE": "mirror/rocm:7",
            "ACCELMATRIX_CUDA_BASE_IMAGE": "",
        }
    )
    assert settings.arguments("cuda") == {"BASE_IMAGE": "mirror/python:3.11"}
    assert settings.arguments("rocm") == {"BASE_IMAGE": "mirror/rocm:7"}


@pytest.mark.parametrize("registry", ["https://ghcr.io", "ghcr.io/", "/a", "a b", "ghcr.io/Me"])
def test_what_is_no_registry_is_refused(registry: str) -> None:
    with pytest.raises(UsageError, match="is not a registry and path") as caught:
        ImageSettings(registry=registry)
    assert "ACCELMATRIX_REGISTRY" in str(error_hint(caught.value))


def test_backends_name_their_image_or_cannot_run_in_containers() -> None:
    assert (image_name("webgpu"), image_name("fake")) == ("browser", "cpu")
    with raises_words(Unavailable, match="mps") as caught:
        image_name("mps")
    assert "--launcher process" in str(error_hint(caught.value))


HASH = "--hash=sha256:" + "a" * 64


def test_a_site_names_its_own_hashes_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "site.txt"
    file.write_text(f"# ours\n\ntorch==2.13.0+cpu {HASH} {HASH}\n")
    settings = ImageSettings.from_environment({"ACCELMATRIX_HASHES": str(file)})
    assert settings.site_hashes == file.read_bytes()
    source = settings.source("cpu")
    assert source
    assert source.hashes() == "site"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read"),
        ("torch==1\n", r":1: 'torch==1' is no such line"),
        (f"\n--index-url=x {HASH}", r":2: "),
        ("torch==1 --hash=md5:a", r":1: "),
    ],
)
def test_a_file_of_hashes_that_says_something_else_is_refused(
    tmp_path: Path, text: str | None, message: str
) -> None:
    file = tmp_path / "site.txt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        ImageSettings.from_environment({"ACCELMATRIX_HASHES": str(file)})
    assert "ACCELMATRIX_HASHES" in str(error_hint(caught.value))
