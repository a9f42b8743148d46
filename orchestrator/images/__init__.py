"""The images that jobs execute in: named by backend and version, built, pulled, pushed, pruned."""

from typing import TYPE_CHECKING

from orchestrator.images.image import REVISION_LABEL, Image, ImageStatus
from orchestrator.images.settings import ImageSettings
from runner.contract.lazy_names import lazy_names

if TYPE_CHECKING:
    from orchestrator.images.local_images import LocalImages
    from orchestrator.images.prune import PrunedImages, prune_images

__all__ = [
    "REVISION_LABEL",
    "Image",
    "ImageSettings",
    "ImageStatus",
    "LocalImages",
    "PrunedImages",
    "prune_images",
]

__getattr__ = lazy_names(
    __name__,
    {
        "LocalImages": "local_images",
        "PrunedImages": "prune",
        "prune_images": "prune",
    },
)
