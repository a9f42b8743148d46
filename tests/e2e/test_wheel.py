"""The wheel, installed where there is no checkout: it measures in an image that it pulls."""

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.images.image import TRUST_LABEL, Image
from orchestrator.images.local_images import LocalImages
from orchestrator.images.settings import ImageSettings
from orchestrator.system.engine import connect_engine
from tests.conftest import ROOT
from tests.support.checkout import copied_checkout, do

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.engine]


@pytest.fixture
def published(cpu_image: Image, registry: str) -> Image:
    """The cpu image of these files, pushed to a registry on loopback."""
    with_registry = replace(ImageSettings.from_environment(), registry=registry)
    client = connect_engine()
    pushed = LocalImages(client, with_registry).push("cpu")
    client.images.remove(pushed.reference)
    client.close()
    assert pushed.id == cpu_image.id
    return pushed


def test_a_wheel_measures_in_the_published_image_of_its_own_version(
    tmp_path: Path, published: Image, registry: str
) -> None:
    checkout = copied_checkout(tmp_path / "checkout")
    noted = ("lock", f"cpu={published.digest}", "--registry", registry)
    do(checkout, sys.executable, "-m", "tools.releases", *noted)
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path / "dist")
    do(checkout, sys.executable, "-m", "pip", "wheel", "--quiet", *options, ".")
    shutil.rmtree(checkout)

    do(tmp_path, sys.executable, "-m", "venv", "venv")
    program, install = tmp_path / "venv/bin/orchestrator", (tmp_path / "venv/bin/pip", "install")
    locked = ("--no-deps", "--require-hashes", "--requirement", ROOT / "locks/orchestrator.txt")
    do(tmp_path, *install, "--quiet", *locked)
    do(tmp_path, *install, "--quiet", "--no-deps", *(tmp_path / "dist").iterdir())

    empty = tmp_path / "empty"
    empty.mkdir()
    nobody = {"HOME": str(tmp_path), "ACCELMATRIX_STATE": str(tmp_path / "state")}
    kept = ("PATH", "DOCKER_HOST", "ACCELMATRIX_LOCKS")
    ours = {name: os.environ[name] for name in kept if name in os.environ} | nobody
    bench = (program, "bench", "--model", "bert-tiny", "--launcher", "docker", "--json")
    (row,) = json.loads(do(empty, *bench, environment=ours))["results"]
    assert row["status"] == "ok"
    question = "SELECT image_digest, image_labels FROM environments"
    (answer,) = json.loads(do(empty, program, "query", question, "--json", environment=ours))
    assert answer["image_digest"] == published.digest
    assert answer["image_labels"][TRUST_LABEL] == "published digest"
    remote = (program, "images", "list", "--remote", "--json")
    states = {one["name"]: one["state"] for one in json.loads(do(empty, *remote, environment=ours))}
    assert (states["cpu"], states["cuda"]) == ("as released", "missing")
