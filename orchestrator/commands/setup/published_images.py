"""Published images as a registry holds them: compared with the release, and their signatures."""

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestrator.backends.catalogue import image_names
from orchestrator.images.lock import PublishedImage, ReleasedImage
from orchestrator.images.remote import (
    Registry,
    SignatureCheck,
    Signer,
    check_signatures,
    find_cosign,
    is_plain_http,
)
from orchestrator.images.settings import ImageSettings
from runner.contract.errors import ImageError, UsageError

PublicationState = Literal["as released", "another image", "never released", "missing"]
"""`never released`: it is there, and this version knows no release with it."""
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class RemoteStatus:
    """One image of this version in the registry."""

    name: str
    """The image's name without `accelmatrix-`."""
    reference: str
    """Full name and tag."""
    image: PublishedImage | None
    """The image that the registry has under that tag."""
    released: ReleasedImage | None
    """The image that this version's release published."""

    @property
    def state(self) -> PublicationState:
        """The registry's image compared with the release's."""
        if self.image is None:
            return "missing"
        if self.released is None:
            return "never released"
        return "as released" if self.image.digest == self.released.digest else "another image"

    @property
    def fits_here(self) -> bool:
        """True if it can be executed on this machine without emulation."""
        machine = platform.machine()
        own = f"linux/{_ARCHITECTURES.get(machine, machine)}"
        return self.image is not None and any(name.startswith(own) for name in self.image.platforms)


@dataclass(frozen=True)
class VerifiedImage:
    """One image whose signature and provenance were checked."""

    name: str
    reference: str
    """Its name with the digest that was checked."""
    checks: tuple[SignatureCheck, ...]

    @property
    def valid(self) -> bool:
        """True if nothing speaks against it."""
        return all(check.valid for check in self.checks)


def remote_images(settings: ImageSettings) -> list[RemoteStatus]:
    """Every image of this version as the registry holds it, or does not."""
    _require_registry(settings)
    return [_status(settings, name) for name in image_names()]


def verified_images(
    settings: ImageSettings, names: tuple[str, ...], key: Path | None
) -> list[VerifiedImage]:
    """Check signature and provenance of images: those named, or all that the release published.

    Args:
        settings: registry, version and lock.
        names: images by name; empty for all that are published.
        key: the public key of who signed; None for the release's own workflow.
    """
    _require_registry(settings)
    signer = _signer(settings, key)
    cosign = find_cosign()
    return [
        VerifiedImage(
            name,
            reference,
            tuple(
                check_signatures(
                    reference, signer, cosign=cosign, plain_http=is_plain_http(settings.registry)
                )
            ),
        )
        for name, reference in _by_digest(settings, names)
    ]


def _by_digest(settings: ImageSettings, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each image with the digest that a pull takes: the release's, else that of the tag today."""
    for name in names or image_names():
        image = settings.published(name) or _status(settings, name).image
        if image is not None:
            yield name, f"{settings.repository(name)}@{image.digest}"
        elif names:
            raise ImageError(
                f"{settings.reference(name)}: the registry has no such image",
                hint="`orchestrator images list --remote` shows what it has",
            )


def _status(settings: ImageSettings, name: str) -> RemoteStatus:
    image = Registry(settings.repository(name)).image(settings.version)
    return RemoteStatus(name, settings.reference(name), image, settings.published(name))


def _signer(settings: ImageSettings, key: Path | None) -> Signer:
    release = settings.lock.get(settings.version)
    if key is None and (release is None or release.signer is None):
        raise UsageError(
            f"no release of version {settings.version} is known here whose workflow signed images",
            hint="`--key FILE` names the public key of who signed them",
        )
    return Signer(release.signer if release else None, key)


def _require_registry(settings: ImageSettings) -> None:
    if not settings.registry:
        raise ImageError(
            "no registry is configured whose images could be listed",
            hint="name one: `--registry ghcr.io/somebody`, or ACCELMATRIX_REGISTRY",
        )
