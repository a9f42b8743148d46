"""Images of one engine: found, built, listed and removed."""

import io
from pathlib import Path
from typing import Any, cast

import pytest
from docker import DockerClient

from orchestrator.images.image import TRUST_LABEL, VERSION_LABEL, Image
from orchestrator.images.local_images import LocalImages, PrunedImages
from orchestrator.images.source import SourceFolders
from orchestrator.launchers.registry import Pinned, PinnedImages
from orchestrator.screen.words.reasons import error_hint
from runner.contract.errors import EngineUnavailable, ImageError
from tests.orchestrator.images.conftest import Workshop
from tests.support.proxy import EngineProxy
from tests.support.words import raises_words

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_an_image_is_built_once_and_says_what_it_is(workshop: Workshop) -> None:
    images = workshop.images(revision="abc123")
    image = images.ensure("cpu")
    assert image.reference == f"accelmatrix-cpu:{workshop.settings.version}"
    assert image.digest == image.id
    assert image.size_bytes > 0
    expected = {
        "org.opencontainers.image.title": "accelmatrix-cpu",
        "org.opencontainers.image.version": workshop.settings.version,
        "org.opencontainers.image.revision": "abc123",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.accelmatrix.backend": "cpu",
    }
    assert expected.items() <= image.labels.items()
    assert image.labels["org.accelmatrix.source"].startswith("sha256:")
    workshop.lines.clear()
    assert images.ensure("fake") == image
    assert workshop.lines == []


def test_a_stale_image_is_built_again_and_the_older_found_by_digest(workshop: Workshop) -> None:
    first = workshop.images().ensure("cpu")
    workshop.write("runner/__init__.py", "# changed")
    (status,) = [row for row in workshop.images().list() if row.name == "cpu"]
    assert not status.fresh
    second = workshop.images().ensure("cpu")
    assert second.id != first.id
    assert second.labels["org.accelmatrix.source"] != first.labels["org.accelmatrix.source"]

    found = workshop.images().exactly(first.reference, first.digest)
    assert (found.id, found.digest) == (first.id, first.digest)
    pinned = PinnedImages(workshop.images(), [Pinned("fake", first.reference, first.digest)])
    assert (pinned.ensure("fake").id, pinned.ensure("cpu").id) == (first.id, second.id)


@pytest.mark.parametrize(
    ("reference", "hint"),
    [("ghcr.io/a/accelmatrix-cpu:1", "docker pull ghcr.io/a/accelmatrix-cpu@sha256:000")],
)
def test_an_image_that_is_gone_is_not_replaced_by_another(
    workshop: Workshop, reference: str, hint: str
) -> None:
    with raises_words(ImageError, match="no image with the digest sha256:000") as caught:
        workshop.images().exactly(reference, "sha256:" + "0" * 64)
    assert hint in str(error_hint(caught.value))


def test_a_failed_build_points_to_its_log(workshop: Workshop) -> None:
    workshop.write("images/cpu/Dockerfile", "FROM scratch\nCOPY nothing /\n")
    with raises_words(ImageError, match=r"cannot be built: .*nothing") as caught:
        workshop.images().ensure("cpu")
    assert caught.value.exit_code == 5
    assert "build-cpu.log" in str(error_hint(caught.value))
    assert workshop.images().find("cpu") is None


@pytest.mark.nightly
def test_a_base_out_of_reach_is_named_with_the_variable_for_another(workshop: Workshop) -> None:
    dockerfile = "ARG BASE_IMAGE=nowhere.invalid/base:1\nFROM ${BASE_IMAGE}\nCOPY runner /runner\n"
    workshop.write("images/cpu/Dockerfile", dockerfile)
    with raises_words(ImageError, match=r"cannot be built: Step 2/\d+ : FROM .*: .") as caught:
        workshop.images().build("cpu")
    hint = str(error_hint(caught.value))
    assert "nowhere.invalid/base:1, ACCELMATRIX_CPU_BASE_IMAGE names another base" in hint


def test_without_sources_there_is_none(workshop: Workshop, tmp_path: Path) -> None:
    images = workshop.images(folders=SourceFolders.of(tmp_path / "elsewhere"))
    with raises_words(ImageError, match="holds no cpu/Dockerfile"):
        images.ensure("cpu")
    with raises_words(ImageError, match="no registry is configured") as caught:
        images.pull("cpu")
    assert "ACCELMATRIX_REGISTRY" in str(error_hint(caught.value))


def test_an_image_built_upon_ours_under_our_name_is_not_taken_for_ours(workshop: Workshop) -> None:
    ours = workshop.images().ensure("cpu")
    workshop.disguise("ENV LYING=1")
    assert workshop.images().ensure("cpu").id == ours.id
    lie = workshop.disguise("ENV LYING=1")
    chosen = workshop.images(chosen={"cpu": ours.reference})
    taken = chosen.ensure("cpu")
    assert (taken.id, taken.trust) == (lie, "chosen by the user")
    assert taken.labels[TRUST_LABEL] == "chosen by the user"
    with raises_words(ImageError, match="image not verified") as caught:
        workshop.images().exactly(taken.reference, lie)
    assert f"--image BACKEND={taken.reference}" in str(error_hint(caught.value))
    assert chosen.exactly(taken.reference, lie) == taken


def test_the_list_shows_every_image_there_or_not(workshop: Workshop) -> None:
    image = workshop.images().build("cpu")
    rows = {row.name: row for row in workshop.images().list()}
    assert list(rows) == ["cpu", "cuda", "rocm", "openvino", "qnn", "browser"]
    assert (rows["cpu"].image, rows["cpu"].fresh, rows["cpu"].support_class) == (image, True, 1)
    cuda = rows["cuda"]
    assert (cuda.image, cuda.fresh, cuda.support_class) == (None, False, 2)
    assert rows["browser"].backends == ("webnn", "webgpu", "wasm")


def test_an_engine_that_is_gone(workshop: Workshop, proxy: EngineProxy) -> None:
    client = DockerClient(base_url=f"unix://{proxy.path}", version="auto")
    proxy.cut()
    images = LocalImages(client, workshop.settings)
    for attempt in (images.ensure, images.build, images.find):
        with pytest.raises(EngineUnavailable):
            attempt("cpu")
    with pytest.raises(EngineUnavailable):
        images.prune()


class OnlyOf:
    """The real engine, but it shows the images of one workshop alone: others are in use."""

    def __init__(self, workshop: Workshop) -> None:
        self.api = self
        self._real = workshop.client.api
        self._version = workshop.settings.version
        self.remove_image = self._real.remove_image

    def images(self, filters: dict[str, str]) -> list[dict[str, Any]]:
        """What the engine shows, less everything foreign to the workshop."""
        found = self._real.images(filters=filters)
        version = self._version
        return [i for i in found if i["Labels"].get(VERSION_LABEL, "").startswith(version)]


def pruned(workshop: Workshop, *, everything: bool = False) -> PrunedImages:
    client = cast("DockerClient", OnlyOf(workshop))
    return LocalImages(client, workshop.settings).prune(everything=everything)


def build_old(workshop: Workshop) -> Image:
    old = workshop.images(version=f"{workshop.settings.version}-old").build("cpu")
    workshop.write("runner/__init__.py", "# newer")
    return old


def exists(workshop: Workshop, reference: str) -> bool:
    return any(reference in image.tags for image in workshop.client.images.list())


def test_old_versions_go_and_the_present_one_stays(workshop: Workshop) -> None:
    old, image = build_old(workshop), workshop.images().build("cpu")
    assert pruned(workshop) == PrunedImages(removed=(old.reference,), in_use=())
    assert not exists(workshop, old.reference)
    assert workshop.images().find("cpu") == image


@pytest.mark.nightly
def test_everything_of_ours_goes_if_asked(workshop: Workshop) -> None:
    old, image = build_old(workshop), workshop.images().build("cpu")
    done = pruned(workshop, everything=True)
    assert set(done.removed) == {old.reference, image.reference}
    assert workshop.images().find("cpu") is None


def test_images_that_others_built_upon_ours_stay(workshop: Workshop) -> None:
    base = workshop.images().build("cpu")
    theirs = f"somebody/else:{workshop.settings.version}"
    dockerfile = f"FROM {base.reference}\nENV A=1\n".encode()
    workshop.client.images.build(fileobj=io.BytesIO(dockerfile), tag=theirs, rm=True)
    assert theirs not in pruned(workshop, everything=True).removed
    assert exists(workshop, theirs)


def test_images_in_use_stay_and_are_told(workshop: Workshop) -> None:
    old = build_old(workshop)
    container = workshop.client.api.create_container(old.id, command="x")["Id"]
    try:
        assert pruned(workshop) == PrunedImages(removed=(), in_use=(old.reference,))
        assert exists(workshop, old.reference)
    finally:
        workshop.client.api.remove_container(container)
