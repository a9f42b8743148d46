"""An image: labels, the files that it is built from, and what the engine holds."""

import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.images.trust import ImageTrust
from runner.contract.files import hash_files

BACKEND_LABEL = "org.accelmatrix.backend"
SOURCE_LABEL = "org.accelmatrix.source"
VERSION_LABEL = "org.opencontainers.image.version"
REVISION_LABEL = "org.opencontainers.image.revision"


@dataclass(frozen=True)
class Image:
    """One image on this machine's engine."""

    reference: str
    """Name and tag."""
    id: str
    """The engine's own `sha256:…`."""
    digest: str
    """The registry's `sha256:…` if the image was pushed or pulled, else the id."""
    labels: Mapping[str, str]
    """All its labels, and our own word on its trust."""
    size_bytes: int
    """Size of its layers, bytes."""
    created: str
    """The time of its build, RFC 3339."""
    trust: ImageTrust = "image not verified"
    """The reason to believe that it is ours."""


def read_image(reference: str, inspected: Mapping[str, Any]) -> Image:
    """The image that the engine's `inspect` describes."""
    repository = reference.rpartition(":")[0]
    digests = dict(item.split("@", 1) for item in inspected.get("RepoDigests") or ())
    return Image(
        reference=reference,
        id=inspected["Id"],
        digest=digests.get(repository, inspected["Id"]),
        labels=inspected["Config"].get("Labels") or {},
        size_bytes=inspected["Size"],
        created=inspected["Created"],
    )


HASHES_LABEL = "org.accelmatrix.hashes"
BASE_LABEL = "org.accelmatrix.base"
SITE_HASHES = "requirements.site.txt"
"""The name of a site's own hashes in an image's folder of the build context."""
UNHASHED = re.compile(r"^# unhashed: (\S+)$", re.MULTILINE)
BASE_IMAGE = re.compile(r"^ARG BASE_IMAGE=(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class ImageSource:
    """The files that an image is built from."""

    checkout: Path
    """The folder that all paths start from."""
    files: tuple[Path, ...]
    """Every file, relative to the checkout, sorted."""
    dockerfile: str
    """The Dockerfile's path inside the context."""
    site_hashes: bytes = b""
    """Hashes of the wheels that this site allows; empty if it names none."""

    def fingerprint(self) -> str:
        """`sha256:…` over the names and contents of all files, and a site's own hashes."""
        digest = hash_files(self.checkout, self.files)
        if self.site_hashes:
            digest = hashlib.sha256(digest.encode() + self.site_hashes).hexdigest()
        return f"sha256:{digest}"

    def hashes(self) -> str:
        """The hashes that its packages are held to: `published`, less some, or with a `site`'s."""
        if self.site_hashes:
            return "site"
        published = self._folder / "requirements.hashes.txt"
        unhashed = UNHASHED.findall(published.read_text("utf-8")) if published.is_file() else []
        return f"published, none for {', '.join(unhashed)}" if unhashed else "published"

    def base_image(self) -> str | None:
        """The image that the Dockerfile builds upon unless another one is named."""
        named = BASE_IMAGE.search((self.checkout / self.dockerfile).read_text("utf-8"))
        return named[1] if named else None

    def pinned_base(self) -> str | None:
        """The same as `name:tag@sha256:…`; None if its digest is not known."""
        base, file = self.base_image(), self.checkout / "images" / "bases.json"
        digests = json.loads(file.read_text("utf-8")) if file.is_file() else {}
        digest = digests.get(base)
        return f"{base}@{digest}" if digest else None

    def context(self) -> io.BytesIO:
        """The build context as a tar file, the same for the same files."""
        contents = {path.as_posix(): (self.checkout / path).read_bytes() for path in self.files}
        if self.site_hashes:
            folder = self._folder.relative_to(self.checkout)
            contents[f"{folder.as_posix()}/{SITE_HASHES}"] = self.site_hashes
        return _archive(contents)

    @property
    def _folder(self) -> Path:
        return (self.checkout / self.dockerfile).parent


def _archive(contents: Mapping[str, bytes]) -> io.BytesIO:
    """A tar file of these contents by name."""
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    buffer.seek(0)
    return buffer


def find_source(checkout: Path, name: str, site_hashes: bytes = b"") -> ImageSource | None:
    """The source of that image; None if the checkout has none."""
    dockerfile = checkout / "images" / name / "Dockerfile"
    if not dockerfile.is_file():
        return None
    shared = (path for path in (checkout / "images").iterdir() if not path.name.startswith("."))
    paths = {*shared, *_files(dockerfile.parent), *_files(checkout / "runner")}
    paths.discard(dockerfile.with_name(SITE_HASHES))
    files = tuple(sorted(path.relative_to(checkout) for path in paths if path.is_file()))
    return ImageSource(checkout, files, f"images/{name}/Dockerfile", site_hashes)


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if not any(part == "__pycache__" or part.startswith(".") for part in parts):
            yield path
