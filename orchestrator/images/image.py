"""An image as the engine holds it, and the labels of ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.backends.catalogue import SupportClass
from orchestrator.images.trust import ImageTrust
from runner.contract.axes import Backend

BACKEND_LABEL = "org.accelmatrix.backend"
HASHES_LABEL = "org.accelmatrix.hashes"
BASE_LABEL = "org.accelmatrix.base"
SOURCE_LABEL = "org.accelmatrix.source"
VERSION_LABEL = "org.opencontainers.image.version"
REVISION_LABEL = "org.opencontainers.image.revision"


@dataclass(frozen=True)
class Image:
    """One image on this machine's engine."""

    reference: str
    """Name and tag."""
    id: str
    """The engine's own `sha256:…`."""
    digest: str
    """The registry's `sha256:…` if the image was pushed or pulled, else the id."""
    labels: Mapping[str, str]
    """All its labels, and our own word on its trust."""
    architecture: str
    """Of the processor, in the engine's words, e.g. `amd64`."""
    size_bytes: int
    """Size of its layers, bytes."""
    created: str
    """The time of its build, RFC 3339."""
    trust: ImageTrust = "image not verified"
    """The reason to believe that it is ours."""


@dataclass(frozen=True)
class ImageStatus:
    """One row of `images list`."""

    name: str
    """The image's name without `accelmatrix-`."""
    backends: tuple[Backend, ...]
    """The backends that execute in it."""
    reference: str
    """Full name and tag."""
    support_class: SupportClass | None
    """The support class of the first of these backends; None: this version has no such image."""
    image: Image | None
    """The image that the engine holds under that reference."""
    fresh: bool
    """True if it is there, verified, and made of the files that are here."""


def read_image(reference: str, inspected: Mapping[str, Any]) -> Image:
    """The image that the engine's `inspect` describes."""
    repository = image_repository(reference)
    digests = dict(item.split("@", 1) for item in inspected.get("RepoDigests") or ())
    return Image(
        reference=reference,
        id=inspected["Id"],
        digest=digests.get(repository, inspected["Id"]),
        labels=inspected["Config"].get("Labels") or {},
        architecture=inspected["Architecture"],
        size_bytes=inspected["Size"],
        created=inspected["Created"],
    )


def image_repository(reference: str) -> str:
    """The name of an image without its tag and its digest."""
    named = reference.partition("@")[0]
    path, _, last = named.rpartition("/")
    name = last.partition(":")[0]
    return f"{path}/{name}" if path else name
