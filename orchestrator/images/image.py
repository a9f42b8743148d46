"""An image as the engine holds it, and the labels of ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BACKEND_LABEL = "org.accelmatrix.backend"
SOURCE_LABEL = "org.accelmatrix.source"
VERSION_LABEL = "org.opencontainers.image.version"


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
    """All its labels."""
    size_bytes: int
    """Size of its layers, bytes."""
    created: str
    """The time of its build, RFC 3339."""


def read_image(reference: str, inspected: Mapping[str, Any]) -> Image:
    """The image that the engine's `inspect` describes."""
    repository = reference.rpartition(":")[0]
    digests = dict(item.split("@", 1) for item in inspected.get("RepoDigests") or ())
    return Image(
        reference=reference,
        id=inspected["Id"],
        digest=digests.get(repository, inspected["Id"]),
        labels=inspected["Config"].get("Labels") or {},
        size_bytes=inspected["Size"],
        created=inspected["Created"],
    )
