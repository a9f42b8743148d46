"""Removing images of other versions, and none that is not ours."""

import io
from typing import Any, cast

import pytest
from docker import DockerClient

from orchestrator.images.image import VERSION_LABEL, Image
from orchestrator.images.local_images import LocalImages, PrunedImages
from tests.orchestrator.images.conftest import Workshop

pytestmark = [pytest.mark.engine, pytest.mark.slow]


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


@pytest.mark.nightly
def test_the_same_version_under_a_registry_stays(workshop: Workshop) -> None:
    image = workshop.images(registry="registry.example/team").build("cpu")
    assert pruned(workshop) == PrunedImages((), ())
    assert pruned(workshop, everything=True).removed == (image.reference,)


def test_images_that_others_built_upon_ours_stay(workshop: Workshop) -> None:
    base = workshop.images().build("cpu")
    theirs = f"somebody/else:{workshop.settings.version}"
    dockerfile = f"FROM {base.reference}\nENV A=1\n".encode()
    workshop.client.images.build(fileobj=io.BytesIO(dockerfile), tag=theirs, rm=True)
    done = pruned(workshop, everything=True)
    assert theirs not in done.removed
    assert exists(workshop, theirs)


def test_images_in_use_stay_and_are_told(workshop: Workshop) -> None:
    old = build_old(workshop)
    container = workshop.client.api.create_container(old.id, command="x")["Id"]
    try:
        assert pruned(workshop) == PrunedImages(removed=(), in_use=(old.reference,))
        assert exists(workshop, old.reference)
    finally:
        workshop.client.api.remove_container(container)
