from pathlib import Path

import pytest

from runner.contract.errors import ImageError
from tests.orchestrator.images.conftest import Workshop

pytestmark = pytest.mark.engine


def test_an_image_travels_through_a_registry(
    workshop: Workshop, registry: str, tmp_path: Path
) -> None:
    here = workshop.shelf(registry=registry)
    built = here.build("cpu")
    pushed = here.push("cpu")
    assert pushed.reference.startswith(f"{registry}/accelmatrix-cpu:")
    assert pushed.digest != built.digest
    workshop.remove_images()
    assert here.find("cpu") is None
    elsewhere = workshop.shelf(registry=registry, checkout=tmp_path / "no-checkout")
    pulled = elsewhere.ensure("cpu")
    assert (pulled.id, pulled.digest) == (built.id, pushed.digest)
    assert elsewhere.ensure("cpu") == pulled
    assert elsewhere.exactly(pulled.reference, pushed.digest) == pulled


def test_an_image_built_without_registry_is_named_for_it(workshop: Workshop, registry: str) -> None:
    built = workshop.shelf().build("cpu")
    pushed = workshop.shelf(registry=registry).push("cpu")
    assert pushed.id == built.id
    assert workshop.shelf().find("cpu") == built


def test_pulling_what_nobody_pushed(workshop: Workshop, registry: str) -> None:
    with pytest.raises(ImageError, match="cannot be pulled") as caught:
        workshop.shelf(registry=registry).pull("cpu")
    assert "images build" in str(caught.value.hint)


def test_pushing_what_nobody_built(workshop: Workshop, registry: str) -> None:
    with pytest.raises(ImageError, match="there is no image of AccelMatrix by that name"):
        workshop.shelf(registry=registry).push("cpu")


def test_pushing_needs_a_registry(workshop: Workshop) -> None:
    workshop.shelf().build("cpu")
    with pytest.raises(ImageError, match="no registry is configured"):
        workshop.shelf().push("cpu")


def test_a_registry_that_does_not_answer(workshop: Workshop) -> None:
    dead = workshop.shelf(registry="127.0.0.1:1/trial")
    dead.build("cpu")
    with pytest.raises(ImageError, match=r"127\.0\.0\.1:1.* cannot be pushed"):
        dead.push("cpu")
    with pytest.raises(ImageError, match=r"127\.0\.0\.1:1.* cannot be pulled"):
        dead.pull("cpu")
