"""Images: those that a registry holds beside the release, signatures, and what is printed."""

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from analysis.results.table import Field, wrapping
from orchestrator.backends.catalogue import image_names
from orchestrator.images.image import ImageStatus
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
from orchestrator.screen.lines import print_json
from orchestrator.screen.tables import print_lines
from orchestrator.system.text import format_size
from runner.contract.errors import ImageError, UsageError

PublicationState = Literal["as released", "another image", "never released", "missing"]
"""`never released`: it is there, and this version knows no release with it."""
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_DIGEST = Field("digest", wraps=True)
_LOCAL: tuple[str | Field, ...] = (
    *wrapping("image", "backends"),
    *("here", "fresh"),
    Field("size", essential=True, right=True),
    *(Field("class"), Field("trust"), _DIGEST),
)
_REMOTE = (*wrapping("image", "state", "platforms"), Field("runs here"), _DIGEST)
_VERIFIED: tuple[str | Field, ...] = ("image", *wrapping("signature", "provenance"), _DIGEST)


@dataclass(frozen=True)
class RemoteStatus:
    """One image of this version in the registry."""

    name: str
    """The image's name without `accelmatrix-`."""
    reference: str
    image: PublishedImage | None
    released: ReleasedImage | None

    @property
    def state(self) -> PublicationState:
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
    checks: tuple[SignatureCheck, ...]

    @property
    def valid(self) -> bool:
        return all(check.valid for check in self.checks)


def remote_images(settings: ImageSettings) -> list[RemoteStatus]:
    """Every image of this version as the registry holds it, or does not."""
    _require_registry(settings)
    return [_status(settings, name) for name in image_names()]


def verified_images(
    settings: ImageSettings, names: tuple[str, ...], key: Path | None
) -> list[VerifiedImage]:
    """Check signature and provenance of images: those named, or all that the release published.

    The key is the public one of who signed; None for the release's own workflow.
    """
    _require_registry(settings)
    signer, cosign = _signer(settings, key), find_cosign()
    plain = is_plain_http(settings.registry)
    checks = {
        (name, reference): check_signatures(reference, signer, cosign=cosign, plain_http=plain)
        for name, reference in _by_digest(settings, names)
    }
    return [VerifiedImage(*image, tuple(results)) for image, results in checks.items()]


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


def print_images(statuses: Sequence[ImageStatus], *, wide: bool, as_json: bool) -> None:
    if as_json:
        print_json(statuses)
        return
    rows = [
        (
            status.reference,
            ", ".join(status.backends),
            (image := status.image) is not None,
            status.fresh if image else None,
            format_size(image.size_bytes) if image else None,
            status.support_class,
            image.trust if image else None,
            image.digest if image else None,
        )
        for status in statuses
    ]
    print_lines(_LOCAL, rows, wide=wide)


def print_remote_images(statuses: Sequence[RemoteStatus], *, wide: bool, as_json: bool) -> None:
    """One row for each image of this version, whether the registry has it or not."""
    if as_json:
        print_json([_remote_data(status) for status in statuses])
        return
    rows = [
        (
            status.reference,
            status.state,
            _sizes(image) if (image := status.image) else None,
            status.fits_here if image else None,
            image.digest if image else None,
        )
        for status in statuses
    ]
    print_lines(_REMOTE, rows, wide=wide)


def _sizes(image: PublishedImage) -> str:
    """`linux/amd64 612MiB, linux/arm64 590MiB`: what a pull fetches."""
    platforms = image.platforms.items()
    return ", ".join(f"{name} {format_size(content.bytes)}" for name, content in platforms)


def _remote_data(status: RemoteStatus) -> dict[str, object]:
    return {
        "name": status.name,
        "reference": status.reference,
        "state": status.state,
        "runs_here": status.fits_here,
        "image": status.image and status.image.model_dump(),
        "released": status.released and status.released.model_dump(),
    }


def print_verified_images(images: Sequence[VerifiedImage], *, as_json: bool) -> None:
    """One row for each image, with what speaks against it."""
    if as_json:
        print_json(images)
        return
    rows = []
    for image in images:
        words = {check.checked: "valid" if check.valid else check.message for check in image.checks}
        digest = image.reference.partition("@")[2]
        rows.append((image.name, words.get("signature"), words.get("provenance"), digest))
    print_lines(_VERIFIED, rows)
