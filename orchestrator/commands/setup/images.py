"""The images of a registry and this version: list, build, pull, push and remove them."""

from collections.abc import Callable
from dataclasses import replace

from orchestrator.images.local_images import LocalImages
from orchestrator.images.prune import PrunedImages, prune_images
from orchestrator.images.settings import ImageSettings
from orchestrator.system.engine import connect_engine
from orchestrator.system.git import own_commit


def open_images(registry: str | None, report: Callable[[str], None]) -> LocalImages:
    """The engine's images under that registry, or under the environment's if it is None.

    Lines about the work under way go to `report`.
    """
    return LocalImages(connect_engine(), image_settings(registry), report)


def remove_images(registry: str | None, *, everything: bool) -> PrunedImages:
    """Remove images of other versions, or `everything` of ours."""
    return prune_images(connect_engine(), image_settings(registry), everything=everything)


def image_settings(registry: str | None) -> ImageSettings:
    """The settings of images under that registry, or under the environment's if it is None."""
    settings = ImageSettings.from_environment(revision=own_commit())
    return settings if registry is None else replace(settings, registry=registry)
