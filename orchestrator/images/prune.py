"""The removal of images: old versions and those that lost their name, or everything of ours."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from docker import DockerClient
from docker.errors import APIError, ImageNotFound

from orchestrator.images.image import BACKEND_LABEL
from orchestrator.images.settings import ImageSettings
from orchestrator.system.engine import engine_errors


@dataclass(frozen=True)
class PrunedImages:
    """The outcome of a removal."""

    removed: tuple[str, ...]
    """References, or ids of images without one."""
    in_use: tuple[str, ...]
    """Those that a container still holds."""


def prune_images(
    client: DockerClient, settings: ImageSettings, *, everything: bool = False
) -> PrunedImages:
    """Remove images of other versions and those that lost their name; or `everything` of ours.

    An image is ours if it carries our label and our name: one that somebody built upon ours
    inherits the label.
    """
    removed: list[str] = []
    in_use: list[str] = []
    with engine_errors("images cannot be removed"):
        for image in client.api.images(filters={"label": BACKEND_LABEL}):
            for reference in _ours(image):
                if everything or not reference.endswith(f":{settings.version}"):
                    (removed if _remove(client, reference) else in_use).append(reference)
    return PrunedImages(tuple(removed), tuple(in_use))


def _ours(image: dict[str, Any]) -> Iterator[str]:
    name = f"accelmatrix-{image['Labels'][BACKEND_LABEL]}"
    tags = [tag for tag in image["RepoTags"] or () if tag != "<none>:<none>"]
    if not tags:
        yield image["Id"]
    for tag in tags:
        if tag.rpartition(":")[0].rpartition("/")[2] == name:
            yield tag


def _remove(client: DockerClient, reference: str) -> bool:
    try:
        client.api.remove_image(reference)
    except ImageNotFound:
        return True
    except APIError as error:
        if error.status_code == 409:
            return False
        raise
    return True
