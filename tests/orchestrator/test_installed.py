import socket
from pathlib import Path

import pytest

import runner
from orchestrator.images.image import SOURCE_LABEL
from orchestrator.images.source import find_source
from orchestrator.installed import this_installation
from tests.orchestrator.images.conftest import tiny_checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return tiny_checkout(tmp_path)


def labels_of(checkout: Path) -> dict[str, str]:
    source = find_source(checkout, "cpu")
    assert source is not None
    return {SOURCE_LABEL: source.fingerprint()}


def test_it_is_this_host_with_this_version() -> None:
    here = this_installation()
    assert (here.hostname, here.runner_version) == (socket.gethostname(), runner.__version__)


def test_an_image_is_outdated_once_its_files_have_changed(checkout: Path) -> None:
    labels = labels_of(checkout)
    assert not this_installation(checkout).is_outdated("cpu", labels)
    (checkout / "runner" / "new.py").touch()
    assert this_installation(checkout).is_outdated("cpu", labels)


@pytest.mark.parametrize(
    ("backend", "labels"),
    [
        ("cpu", {}),
        ("mps", {SOURCE_LABEL: "sha256:0"}),
        ("cuda", {SOURCE_LABEL: "sha256:0"}),
        ("tpu", {SOURCE_LABEL: "sha256:0"}),
    ],
)
def test_nothing_is_outdated_that_cannot_be_compared(
    checkout: Path, backend: str, labels: dict[str, str]
) -> None:
    assert not this_installation(checkout).is_outdated(backend, labels)


def test_without_a_checkout_no_image_is_outdated(tmp_path: Path) -> None:
    assert not this_installation(tmp_path).is_outdated("cpu", {SOURCE_LABEL: "sha256:0"})
