"""Free disk is looked at before a build or a pull begins, not when it fails at the end."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from docker import DockerClient

from orchestrator.system.engine import engine_errors
from orchestrator.system.text import format_size
from runner.contract.errors import ImageError

GIB = 1 << 30
NEEDED_BYTES: Mapping[str, int] = {
    "cpu": 3 * GIB,
    "cuda": 20 * GIB,
    "rocm": 40 * GIB,
    "openvino": 4 * GIB,
    "qnn": 4 * GIB,
    "browser": 4 * GIB,
}
"""What building or pulling an image takes at its height, downloads included."""
DEFAULT_NEEDED_BYTES = 4 * GIB
"""The same for an image without a line there: what runtimes without a GPU's libraries take."""

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
    needed, available = NEEDED_BYTES.get(name, DEFAULT_NEEDED_BYTES), free(root)
    if available < needed:
        raise ImageError(
            f"image {name}: it takes about {format_size(needed)} in {root}, "
            f"where {format_size(available)} are free",
            hint="`orchestrator images prune` removes old images of AccelMatrix",
        )
