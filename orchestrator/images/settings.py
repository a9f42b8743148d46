"""The names of images and the arguments of their builds."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from orchestrator.backends.catalogue import CATALOGUE, image_names
from orchestrator.images.image import ImageSource, find_source
from orchestrator.images.trust import Lock, read_lock, state_file
from orchestrator.system.git import ROOT
from runner import __version__
from runner.contract.axes import Backend
from runner.contract.errors import Unavailable, UsageError

BUILD_ARGUMENTS = (
    *("BASE_IMAGE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "TORCH_INDEX_URL"),
    "NPM_REGISTRY",
)
PREFIX = "ACCELMATRIX_"
UNVERIFIED_VARIABLE = f"{PREFIX}UNVERIFIED_IMAGES"
ALLOW = "allow"
HASHES_VARIABLE = f"{PREFIX}HASHES"
SITE_LINE = re.compile(r"[\w.-]+==[\w.+!-]+(\s+--hash=sha256:[0-9a-f]{64})+", re.ASCII)
REGISTRY = re.compile(r"[a-z0-9]+([._-]+[a-z0-9]+)*(:\d+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")


@dataclass(frozen=True)
class ImageSettings:
    """Names, build arguments and folders of images."""

    registry: str = ""
    """The prefix of an image's name, e.g. `ghcr.io/somebody`; empty for local images."""
    version: str = __version__
    """The images' tag."""
    build_args: Mapping[str, str] = field(default_factory=dict)
    """Values of `BUILD_ARGUMENTS`, for all images."""
    bases: Mapping[str, str] = field(default_factory=dict)
    """Images to build upon, by the name of the image; they go before `BASE_IMAGE`."""
    revision: str | None = None
    """The commit that images are labelled with."""
    checkout: Path = ROOT
    """The folder whose `images/` and `runner/` are built, if they are there."""
    logs: Path = Path("results") / "images"
    """The folder of the builds' logs."""
    built: Path | None = None
    """The file that remembers the images that were built here; None for none."""
    lock: Lock = field(default_factory=dict)
    """Digests of published images, by version and name."""
    unverified: bool = False
    """True if the user allows images that nothing vouches for."""
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
        """The settings that variables such as ACCELMATRIX_REGISTRY give.

        Raises:
            UsageError: the registry is not one, unverified images are neither allowed nor not, or
                the site's hashes cannot be read.
        """
        values = {name: environment.get(PREFIX + name, "") for name in BUILD_ARGUMENTS}
        bases = {name: environment.get(base_variable(name), "") for name in image_names()}
        return cls(
            registry=environment.get(f"{PREFIX}REGISTRY", ""),
            build_args={name: value for name, value in values.items() if value},
            bases={name: base for name, base in bases.items() if base},
            revision=revision,
            built=state_file(environment),
            lock=read_lock(),
            unverified=_allows_unverified(environment.get(UNVERIFIED_VARIABLE, "")),
            site_hashes=read_site_hashes(environment),
        )

    def arguments(self, name: str) -> dict[str, str]:
        """The build arguments of one image."""
        own = {"BASE_IMAGE": self.bases[name]} if name in self.bases else {}
        return {**self.build_args, **own}

    def repository(self, name: str) -> str:
        """The image's full name without its tag."""
        plain = f"accelmatrix-{name}"
        return f"{self.registry}/{plain}" if self.registry else plain

    def reference(self, name: str) -> str:
        """The image's full name and tag."""
        return f"{self.repository(name)}:{self.version}"

    def source(self, name: str) -> ImageSource | None:
        """The files that the image is built from; None if the checkout has none."""
        return find_source(self.checkout, name, self.site_hashes)

    def published(self, name: str) -> str | None:
        """The digest under which this version's image was published, if it is known."""
        return self.lock.get(self.version, {}).get(name)

    def is_published(self, digest: str) -> bool:
        """True if an image of any version was published under this digest."""
        return any(digest in digests.values() for digests in self.lock.values())


def read_site_hashes(environment: Mapping[str, str] = os.environ) -> bytes:
    """The hashes of the wheels that a site allows; empty if it names no file of them.

    Raises:
        UsageError: the file cannot be read, or a line says something else.
    """
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


def _allows_unverified(choice: str) -> bool:
    if choice not in {"", ALLOW}:
        raise UsageError(
            f"{UNVERIFIED_VARIABLE}: {choice!r} is not {ALLOW}",
            hint=f"leave it out, or set it to {ALLOW} to measure with images of others",
        )
    return choice == ALLOW


def base_variable(name: str) -> str:
    """The variable that names the image to build this one upon."""
    return f"{PREFIX}{name.upper()}_BASE_IMAGE"


def image_name(backend: Backend) -> str:
    """The name of the image that this backend's jobs execute in.

    Raises:
        Unavailable: the backend works without containers only.
    """
    name = CATALOGUE[backend].image
    if name is None:
        raise Unavailable(
            f"backend {backend}: no container can reach this device",
            hint="run it with --launcher process",
        )
    return name
