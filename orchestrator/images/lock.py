"""The images of releases: where each was published, under which digest, and made of what."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from runner.contract.cell import Frozen

LOCK_FILE = Path(__file__).with_name("images.lock")
"""The releases that this version knows; its own release's workflow adds itself."""

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
Sha256 = Annotated[str, Field(pattern=rf"^{DIGEST.pattern}$")]


class PlatformImage(Frozen):
    """An image for one kind of machine."""

    manifest: Sha256
    """The registry's digest of it alone."""
    config: Sha256
    """The hash of its configuration, which is the id that most engines give it."""
    bytes: int = Field(ge=0)
    """The bytes that a pull fetches of it, compressed."""


class PublishedImage(Frozen):
    """An image in a registry."""

    digest: Sha256
    """The registry's, of all its platforms together."""
    platforms: dict[str, PlatformImage]
    """The image by platform, e.g. `linux/arm64`."""

    @property
    def digests(self) -> frozenset[str]:
        """All hashes by which an engine may know it."""
        images = self.platforms.values()
        parts = (part for image in images for part in (image.manifest, image.config))
        return frozenset((self.digest, *parts))


class ReleasedImage(PublishedImage):
    """An image that a release published."""

    source: Sha256
    """The fingerprint of the files that it was built from."""


class Release(Frozen):
    """The images of one version."""

    registry: str
    """The prefix of their names, e.g. `ghcr.io/somebody`."""
    signer: str | None = None
    """Whose certificate signed them: the address of a workflow at its tag; null if nobody did."""
    images: dict[str, ReleasedImage] = Field(default_factory=dict)
    """Each by its name without `accelmatrix-`."""


Lock = Mapping[str, Release]
"""Releases by version."""
RELEASES = TypeAdapter(dict[str, Release])


def read_lock(file: Path = LOCK_FILE) -> Lock:
    return RELEASES.validate_json(file.read_bytes())
