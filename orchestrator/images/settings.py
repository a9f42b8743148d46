"""The names of images and the arguments of their builds."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from orchestrator.backends.catalogue import CATALOGUE, image_names
from orchestrator.images.image import state_file
from orchestrator.images.source import OUR_FOLDERS, ImageSource, SourceFolders, find_source
from runner import __version__
from runner.contract.axes import Backend
from runner.contract.errors import Unavailable, UsageError
from runner.contract.reasons import reason

if TYPE_CHECKING:
    from orchestrator.images.lock import Lock, ReleasedImage

BUILD_ARGUMENTS = (
    *("BASE_IMAGE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "TORCH_INDEX_URL"),
    "NPM_REGISTRY",
)
PREFIX = "ACCELMATRIX_"
HASHES_VARIABLE = f"{PREFIX}HASHES"
SITE_LINE = re.compile(r"[\w.-]+==[\w.+!-]+(\s+--hash=sha256:[0-9a-f]{64})+", re.ASCII)
REGISTRY = re.compile(r"[a-z0-9]+([._-]+[a-z0-9]+)*(:\d+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")


@dataclass(frozen=True)
class ImageSettings:
    """Names, build arguments and folders of images."""

    registry: str = ""
    """The prefix of an image's name, e.g. `ghcr.io/somebody`; empty for local images."""
    version: str = __version__
    build_args: Mapping[str, str] = field(default_factory=dict)
    """Values of `BUILD_ARGUMENTS`, for all images."""
    bases: Mapping[str, str] = field(default_factory=dict)
    """Images to build upon, by the name of the image; they go before `BASE_IMAGE`."""
    revision: str | None = None
    """The commit that images are labelled with."""
    folders: SourceFolders = OUR_FOLDERS
    logs: Path = Path("results") / "images"
    built: Path | None = None
    """The file that remembers the images that were built here; None for none."""
    lock: "Lock" = field(default_factory=dict)
    chosen: Mapping[Backend, str] = field(default_factory=dict)
    """Images that the user chose by their references; nothing else needs to vouch for them."""
    site_hashes: bytes = b""
    """Hashes of the wheels that this site allows, in lines `name==version --hash=sha256:…`."""

    def __post_init__(self) -> None:
        if self.registry and not REGISTRY.fullmatch(self.registry):
            raise UsageError(
                f"registry: {self.registry!r} is not a registry and path such as ghcr.io/somebody",
                hint=f"give it without scheme and final slash; it comes from {PREFIX}REGISTRY "
                "unless an option names it",
            )

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] = os.environ, revision: str | None = None
    ) -> Self:
        from orchestrator.images.lock import read_lock  # some commands do without pydantic

        lock = read_lock()
        published_at = lock[__version__].registry if __version__ in lock else ""
        values = {name: environment.get(PREFIX + name, "") for name in BUILD_ARGUMENTS}
        bases = {name: environment.get(base_variable(name), "") for name in image_names()}
        return cls(
            registry=environment.get(f"{PREFIX}REGISTRY") or published_at,
            build_args={name: value for name, value in values.items() if value},
            bases={name: base for name, base in bases.items() if base},
            revision=revision,
            built=state_file(environment),
            lock=lock,
            site_hashes=read_site_hashes(environment),
        )

    def arguments(self, name: str) -> dict[str, str]:
        own = {"BASE_IMAGE": self.bases[name]} if name in self.bases else {}
        return {**self.build_args, **own}

    def repository(self, name: str) -> str:
        plain = f"accelmatrix-{name}"
        return f"{self.registry}/{plain}" if self.registry else plain

    def reference(self, name: str) -> str:
        return f"{self.repository(name)}:{self.version}"

    def source(self, name: str) -> ImageSource | None:
        return find_source(name, self.folders, self.site_hashes)

    def published(self, name: str) -> "ReleasedImage | None":
        release = self.lock.get(self.version)
        return release.images.get(name) if release else None

    def publication(self, *digests: str) -> "ReleasedImage | None":
        """The image of any version that was published under one of these digests."""
        images = (image for release in self.lock.values() for image in release.images.values())
        return next((image for image in images if image.digests & {*digests}), None)


def read_site_hashes(environment: Mapping[str, str] = os.environ) -> bytes:
    if not (name := environment.get(HASHES_VARIABLE)):
        return b""
    hint = f"{HASHES_VARIABLE} names a file of lines `name==version --hash=sha256:…`"
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}", hint=hint) from error
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if line.strip() and not line.startswith("#") and not SITE_LINE.fullmatch(line.strip()):
            raise UsageError(f"{name}:{number}: {line.strip()[:80]!r} is no such line", hint=hint)
    if not content.strip():
        raise UsageError(f"{name}: is empty", hint=hint)
    return content


def base_variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}_BASE_IMAGE"


def image_name(backend: Backend) -> str:
    """The image that this backend's jobs execute in; Unavailable without one."""
    name = CATALOGUE[backend].image
    if name is None:
        raise Unavailable(reason("no_container_reaches", backend=backend))
    return name
