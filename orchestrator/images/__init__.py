"""The images that jobs execute in: named by backend and version, built, pulled, pushed, pruned."""

from orchestrator.images.image import Image
from orchestrator.images.local_images import ImageStatus, LocalImages
from orchestrator.images.prune import PrunedImages, prune_images
from orchestrator.images.settings import ImageSettings

__all__ = [
    "Image",
    "ImageSettings",
    "ImageStatus",
    "LocalImages",
    "PrunedImages",
    "prune_images",
]
