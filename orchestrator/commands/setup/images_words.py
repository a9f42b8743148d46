"""Images on the screen: this engine's, a registry's, and what became of one."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.results.table import Field, wrapping
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines
from orchestrator.system.text import format_size

if TYPE_CHECKING:
    from orchestrator.commands.setup.published_images import RemoteStatus, VerifiedImage
    from orchestrator.images.image import Image, ImageStatus
    from orchestrator.images.local_images import PrunedImages

_IMAGE_COLUMNS: tuple[str | Field, ...] = (
    *wrapping("image", "backends"),
    *("here", "fresh"),
    Field("size", essential=True, right=True),
    *(Field("class"), Field("trust"), Field("digest", wraps=True)),
)

_REMOTE_COLUMNS: tuple[str | Field, ...] = (
    *wrapping("image", "state", "platforms"),
    *(Field("runs here"), Field("digest", wraps=True)),
)
_VERIFIED_COLUMNS: tuple[str | Field, ...] = (
    "image",
    *wrapping("signature", "provenance"),
    Field("digest", wraps=True),
)


def print_images(statuses: Sequence["ImageStatus"], *, wide: bool = False, as_json: bool) -> None:
    """One row for each image, whether the engine holds it or not."""
    if as_json:
        print_json(statuses)
        return
    rows = [
        (
            status.reference,
            ", ".join(status.backends),
            status.image is not None,
            status.fresh if status.image else None,
            format_size(status.image.size_bytes) if status.image else None,
            status.support_class,
            status.image.trust if status.image else None,
            status.image.digest if status.image else None,
        )
        for status in statuses
    ]
    print_lines(_IMAGE_COLUMNS, rows, wide=wide)


def print_image(action: str, image: "Image") -> None:
    """The image that was built, pulled or pushed."""
    print_line(f"{action} {image.reference} {image.digest} ({image.trust})")


def print_pruned(pruned: "PrunedImages") -> None:
    """The images that were removed, and those that a container uses."""
    for reference in pruned.removed:
        print_line(f"removed {reference}")
    for reference in pruned.in_use:
        print_line(f"kept {reference}: a container uses it")
    if not (pruned.removed or pruned.in_use):
        print_line("there is nothing to remove")


def print_saved_image(image: "Image", path: Path) -> None:
    """The image that was written into a file."""
    print_line(f"saved {image.reference} in {path}")
    print_line(f"`orchestrator images load {path.name}` takes it on another machine")


def print_remote_images(
    statuses: Sequence["RemoteStatus"], *, wide: bool = False, as_json: bool
) -> None:
    """One row for each image of this version, whether the registry has it or not."""
    if as_json:
        print_json([_remote_data(status) for status in statuses])
        return
    rows = [
        (
            status.reference,
            status.state,
            _sizes(status),
            status.fits_here if status.image else None,
            status.image.digest if status.image else None,
        )
        for status in statuses
    ]
    print_lines(_REMOTE_COLUMNS, rows, wide=wide)


def _sizes(status: "RemoteStatus") -> str | None:
    """`linux/amd64 612MiB, linux/arm64 590MiB`: what a pull fetches."""
    if status.image is None:
        return None
    platforms = status.image.platforms.items()
    return ", ".join(f"{name} {format_size(image.bytes)}" for name, image in platforms)


def _remote_data(status: "RemoteStatus") -> dict[str, object]:
    return {
        "name": status.name,
        "reference": status.reference,
        "state": status.state,
        "runs_here": status.fits_here,
        "image": status.image and status.image.model_dump(),
        "released": status.released and status.released.model_dump(),
    }


def print_verified_images(images: Sequence["VerifiedImage"], *, as_json: bool) -> None:
    """One row for each image, with what speaks against it."""
    if as_json:
        print_json(images)
        return
    rows = []
    for image in images:
        words = {check.checked: "valid" if check.valid else check.message for check in image.checks}
        digest = image.reference.partition("@")[2]
        rows.append((image.name, words.get("signature"), words.get("provenance"), digest))
    print_lines(_VERIFIED_COLUMNS, rows)
