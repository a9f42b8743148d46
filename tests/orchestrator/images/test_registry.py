"""Images travel through a registry."""

import pytest

from runner.contract.errors import ImageError
from tests.orchestrator.images.conftest import Workshop

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_an_image_travels_through_a_registry(workshop: Workshop, registry: str) -> None:
    here = workshop.images(registry=registry)
    built = here.build("cpu")
    pushed = here.push("cpu")
    assert pushed.reference.startswith(f"{registry}/accelmatrix-cpu:")
    assert pushed.digest != built.digest
    workshop.remove_images()
    assert here.find("cpu") is None
    lock = {workshop.settings.version: {"cpu": pushed.digest}}
    elsewhere = workshop.elsewhere(registry, lock=lock)
    pulled = elsewhere.ensure("cpu")
    assert (pulled.id, pulled.digest) == (built.id, pushed.digest)
    assert pulled.trust == "published digest"
    assert elsewhere.ensure("cpu") == pulled
    assert elsewhere.exactly(pulled.reference, pushed.digest) == pulled


def test_a_tag_of_a_registry_proves_nothing(workshop: Workshop, registry: str) -> None:
    here = workshop.images(registry=registry)
    here.build("cpu")
    published = here.push("cpu").digest
    reference = f"{registry}/accelmatrix-cpu:{workshop.settings.version}"
    lie = workshop.disguise("ENV LYING=1", reference)
    workshop.client.api.push(reference)
    workshop.remove_images()
    with pytest.raises(ImageError, match="image not verified"):
        workshop.elsewhere(registry).ensure("cpu")
    allowed = workshop.elsewhere(registry, unverified=True).ensure("cpu")
    assert (allowed.id, allowed.trust) == (lie, "image not verified")
    # The tag was moved; a digest that is known is pulled as it was published.
    locked = workshop.elsewhere(registry, lock={workshop.settings.version: {"cpu": published}})
    assert (locked.ensure("cpu").digest, locked.ensure("cpu").trust) == (
        published,
        "published digest",
    )


def test_an_image_built_without_registry_is_named_for_it(workshop: Workshop, registry: str) -> None:
    built = workshop.images().build("cpu")
    pushed = workshop.images(registry=registry).push("cpu")
    assert pushed.id == built.id
    assert workshop.images().find("cpu") == built


def test_what_is_not_there_is_neither_pulled_nor_pushed(workshop: Workshop, registry: str) -> None:
    images = workshop.images(registry=registry)
    with pytest.raises(ImageError, match="cannot be pulled") as caught:
        images.pull("cpu")
    assert "images build" in str(caught.value.hint)
    with pytest.raises(ImageError, match="there is no image of AccelMatrix by that name"):
        images.push("cpu")


def test_pushing_needs_a_registry(workshop: Workshop) -> None:
    workshop.images().build("cpu")
    with pytest.raises(ImageError, match="no registry is configured"):
        workshop.images().push("cpu")


def test_a_registry_that_does_not_answer(workshop: Workshop) -> None:
    dead = workshop.images(registry="127.0.0.1:1/trial")
    dead.build("cpu")
    with pytest.raises(ImageError, match=r"127\.0\.0\.1:1.* cannot be pushed"):
        dead.push("cpu")
    with pytest.raises(ImageError, match=r"127\.0\.0\.1:1.* cannot be pulled"):
        dead.pull("cpu")
