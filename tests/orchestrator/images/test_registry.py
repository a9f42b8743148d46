"""Images travel through a registry."""

from pathlib import Path

import pytest

from orchestrator.screen.words.reasons import error_hint
from runner.contract.errors import ImageError, StoreError
from tests.orchestrator.images.conftest import Workshop
from tests.support.words import raises_words

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_an_image_travels_through_a_registry(workshop: Workshop, registry: str) -> None:
    here = workshop.images(registry=registry)
    built = here.build("cpu")
    pushed = here.push("cpu")
    assert pushed.reference.startswith(f"{registry}/accelmatrix-cpu:")
    assert pushed.digest != built.digest
    workshop.remove_images()
    assert here.find("cpu") is None
    elsewhere = workshop.elsewhere(registry, lock=workshop.released(registry, pushed))
    pulled = elsewhere.ensure("cpu")
    assert (pulled.id, pulled.digest) == (built.id, pushed.digest)
    assert pulled.trust == "published digest"
    assert elsewhere.ensure("cpu") == pulled
    assert elsewhere.exactly(pulled.reference, pushed.digest) == pulled


def test_a_tag_of_a_registry_proves_nothing(workshop: Workshop, registry: str) -> None:
    here = workshop.images(registry=registry)
    here.build("cpu")
    published = here.push("cpu")
    lock = workshop.released(registry, published)
    reference = f"{registry}/accelmatrix-cpu:{workshop.settings.version}"
    lie = workshop.disguise("ENV LYING=1", reference)
    workshop.client.api.push(reference)
    workshop.remove_images()
    assert workshop.elsewhere(registry).pull("cpu").trust == "image not verified"
    chosen = workshop.elsewhere(registry, chosen={"cpu": reference}).ensure("cpu")
    assert (chosen.id, chosen.trust) == (lie, "chosen by the user")
    # The tag was moved; a digest that is known is pulled as it was published.
    taken = workshop.elsewhere(registry, lock=lock).ensure("cpu")
    assert (taken.digest, taken.trust) == (published.digest, "published digest")


def test_of_other_files_or_on_another_base_none_is_pulled(
    workshop: Workshop, registry: str
) -> None:
    here = workshop.images(registry=registry)
    here.build("cpu")
    lock = workshop.released(registry, here.push("cpu"))
    workshop.remove_images()
    other_base = workshop.elsewhere(registry, lock=lock, build_args={"BASE_IMAGE": "scratch"})
    assert other_base.ensure("cpu").trust == "built here"
    workshop.remove_images()
    workshop.write("runner/__init__.py", "# changed")
    assert workshop.elsewhere(registry, lock=lock).ensure("cpu").trust == "built here"


@pytest.mark.nightly
def test_a_registry_that_went_away_is_said_and_the_image_is_built(
    workshop: Workshop, registry: str
) -> None:
    here = workshop.images(registry=registry)
    here.build("cpu")
    lock = workshop.released(registry, here.push("cpu"))
    workshop.remove_images()
    built = workshop.elsewhere("127.0.0.1:1/trial", lock=lock).ensure("cpu")
    assert built.trust == "built here"
    assert any("cannot be pulled" in line for line in workshop.lines)


def test_a_chosen_image_is_pulled_by_its_reference_and_refused_if_there_is_none(
    workshop: Workshop, registry: str
) -> None:
    here = workshop.images(registry=registry)
    here.build("cpu")
    pushed = here.push("cpu")
    workshop.remove_images()
    reference = f"{registry}/accelmatrix-cpu@{pushed.digest}"
    chosen = workshop.elsewhere(registry, chosen={"cpu": reference}).ensure("cpu")
    assert (chosen.digest, chosen.trust) == (pushed.digest, "chosen by the user")
    missing = f"{registry}/accelmatrix-cpu:never"
    with raises_words(ImageError, match="never: cannot be pulled"):
        workshop.elsewhere(registry, chosen={"cpu": missing}).ensure("cpu")


def test_an_image_travels_in_a_file(workshop: Workshop, registry: str, tmp_path: Path) -> None:
    here = workshop.images(registry=registry)
    here.build("cpu")
    pushed = here.push("cpu")
    lock, file = workshop.released(registry, pushed), tmp_path / "image.tar"
    assert here.save("cpu", file).id == pushed.id
    workshop.remove_images()
    (loaded,) = workshop.elsewhere(registry, lock=lock).load(file)
    assert (loaded.id, loaded.digest, loaded.trust) == (
        pushed.id,
        pushed.digest,
        "published digest",
    )
    assert workshop.elsewhere(registry, lock=lock).ensure("cpu") == loaded
    file.write_bytes(b"no image")
    with raises_words(ImageError, match="cannot be loaded"):
        here.load(file)
    with pytest.raises(StoreError, match="cannot be read"):
        here.load(tmp_path / "none")


def test_what_is_not_there_is_neither_pulled_nor_pushed(workshop: Workshop, registry: str) -> None:
    images = workshop.images(registry=registry)
    with raises_words(ImageError, match="cannot be pulled") as caught:
        images.pull("cpu")
    assert "images build" in str(error_hint(caught.value))
    with raises_words(ImageError, match="there is no image of AccelMatrix by that name"):
        images.push("cpu")
