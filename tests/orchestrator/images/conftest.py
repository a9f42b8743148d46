"""A tiny checkout whose images build in a moment, and a registry on loopback."""

import io
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from docker import DockerClient
from docker.errors import APIError

from orchestrator.images.image import BACKEND_LABEL, SOURCE_LABEL, TRUST_LABEL, VERSION_LABEL, Image
from orchestrator.images.local_images import LocalImages
from orchestrator.images.lock import Release, ReleasedImage
from orchestrator.images.remote import Registry
from orchestrator.images.settings import ImageSettings
from orchestrator.images.source import SourceFolders


@dataclass
class Workshop:
    """Images of a checkout of its own, under a version of its own."""

    client: DockerClient
    settings: ImageSettings
    lines: list[str] = field(default_factory=list)

    @property
    def checkout(self) -> Path:
        return self.settings.folders.images.parent

    def images(self, **changes: object) -> LocalImages:
        settings = replace(self.settings, **changes)  # type: ignore[arg-type]
        return LocalImages(self.client, settings, self.lines.append)

    def elsewhere(self, registry: str, **changes: object) -> LocalImages:
        """The images of somebody else with the same files, who has built none."""
        return self.images(registry=registry, built=None, **changes)

    def released(self, registry: str, *images: Image) -> dict[str, Release]:
        """The lock of a release that published these images, as their registry has them."""
        noted = {}
        for image in images:
            name = image.labels[BACKEND_LABEL]
            published = Registry(f"{registry}/accelmatrix-{name}").image(image.digest)
            assert published
            source = image.labels[SOURCE_LABEL]
            noted[name] = ReleasedImage(**published.model_dump(), source=source)
        return {self.settings.version: Release(registry=registry, images=noted)}

    def write(self, path: str, text: str) -> None:
        file = self.checkout / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def disguise(self, instruction: str, reference: str = "") -> str:
        """Put an image that somebody built upon ours in its place; returns its id."""
        reference = reference or self.settings.reference("cpu")
        dockerfile = f"FROM {reference}\nLABEL {TRUST_LABEL}='built here'\n{instruction}\n"
        file = io.BytesIO(dockerfile.encode())
        image, _ = self.client.images.build(fileobj=file, tag=reference, rm=True)
        return str(image.id)

    def remove_images(self) -> None:
        """Remove every image whose version begins with this workshop's."""
        while images := self._images():
            for image in images:
                with suppress(APIError):  # gone with another, or a child comes first
                    self.client.api.remove_image(image, force=True)

    def _images(self) -> list[str]:
        found = self.client.api.images(filters={"label": VERSION_LABEL})
        version = self.settings.version
        return [i["Id"] for i in found if i["Labels"][VERSION_LABEL].startswith(version)]


def tiny_checkout(folder: Path) -> Path:
    """A checkout whose cpu image holds nothing but its runner."""
    for path, text in {
        "images/install.py": "",
        "images/setup.sh": "",
        "images/cpu/Dockerfile": "FROM scratch\nARG BASE_IMAGE\nCOPY runner /runner\n",
        "images/cpu/requirements.txt": "",
        "runner/__init__.py": f"# {uuid.uuid4()}\n",
    }.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.fixture
def workshop(client: DockerClient, tmp_path: Path) -> Iterator[Workshop]:
    settings = ImageSettings(
        version=f"trial-{uuid.uuid4().hex}",
        folders=SourceFolders.of(tiny_checkout(tmp_path / "checkout")),
        logs=tmp_path / "logs",
        built=tmp_path / "built-images.json",
    )
    workshop = Workshop(client, settings)
    yield workshop
    workshop.remove_images()
