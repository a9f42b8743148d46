"""Check the free disk before a build or a pull begins, not when it fails at the end."""

import shutil
from collections.abc import Callable
from pathlib import Path

from docker import DockerClient

from orchestrator.backends.catalogue import CATALOGUE, image_names
from orchestrator.system.engine import engine_errors
from orchestrator.system.text import format_size
from runner.contract.errors import ImageError

LOCAL_URLS = ("http+docker://localhost", "http+docker://localnpipe")
FreeBytes = Callable[[Path], int]


def free_bytes(folder: Path) -> int:
    """Bytes that are free in this folder's file system."""
    return shutil.disk_usage(folder).free


def check_disk(client: DockerClient, name: str, free: FreeBytes = free_bytes) -> None:
    """Refuse early if the image does not fit. A remote engine's disk cannot be seen.

    Raises:
        ImageError: there is too little space.
        EngineUnavailable: the engine went away.
    """
    with engine_errors("free disk cannot be asked for"):
        root = Path(client.info()["DockerRootDir"])
    if client.api.base_url not in LOCAL_URLS or not root.exists():
        return
    needed, available = _needed_bytes(name), free(root)
    if available < needed:
        raise ImageError(
            f"image {name}: it takes about {format_size(needed)} in {root}, "
            f"where {format_size(available)} are free",
            hint="`orchestrator images prune` removes old images of AccelMatrix",
        )


def _needed_bytes(name: str) -> int:
    return max(CATALOGUE[backend].image_build_bytes for backend in image_names()[name])
