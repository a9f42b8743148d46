"""The images that jobs execute in: named by backend and version, built, pulled, pushed, pruned."""

from orchestrator.images.image import Image
from orchestrator.images.prune import Pruned, prune
from orchestrator.images.settings import ImageSettings
from orchestrator.images.shelf import ImageStatus, Shelf

__all__ = ["Image", "ImageSettings", "ImageStatus", "Pruned", "Shelf", "prune"]
