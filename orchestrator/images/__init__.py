"""The images that jobs execute in: named by backend and version, built, pulled, pushed, pruned."""

from orchestrator.images.image import Image
from orchestrator.images.images import ImageStatus, LocalImages
from orchestrator.images.prune import Pruned, prune
from orchestrator.images.settings import ImageSettings

__all__ = ["Image", "ImageSettings", "ImageStatus", "LocalImages", "Pruned", "prune"]
