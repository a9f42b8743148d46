"""Images travel through a registry."""

from pathlib import Path

import pytest

from runner.contract.errors import ImageError
from tests.orchestrator.images.conftest import Workshop

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_an_image_travels_through_a_registry(
    workshop: Workshop, registry: str, tmp_path: Path
) -> None:
    here = workshop.images(registry=registry)
    built = here.build("cpu")
    pushed = here.push("cpu")
    assert pushed.reference.startswith(f"{registry}/accelmatrix-cpu:")
    assert pushed.digest != built.digest
    workshop.remove_images()
    assert here.find("cpu") is None
    elsewhere = workshop.images(registry=registry, checkout=tmp_path / "no-checkout")
    pulled = elsewhere.ensure("cpu")
    assert (pulled.id, pulled.digest) == (built.id, pushed.digest)
    assert elsewhere.ensure("cpu") == pulled
    assert elsewhere.exactly(pulled.reference, pushed.digest) == pulled


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
