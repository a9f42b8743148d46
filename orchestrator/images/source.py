"""The files that an image is built from: a checkout's, or those that a wheel carries."""

import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import runner
from runner.contract.files import hash_files

SITE_HASHES = "requirements.site.txt"
"""The name of a site's own hashes in an image's folder of the build context."""
UNHASHED = re.compile(r"^# unhashed: (\S+)$", re.MULTILINE)
BASE_IMAGE = re.compile(r"^ARG BASE_IMAGE=(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class ImageSource:
    """The files that an image is built from."""

    folder: str
    """The path of the image's own folder inside the context."""
    files: Mapping[str, Path]
    """Every file by its path inside the context, sorted."""
    site_hashes: bytes = b""
    """Hashes of the wheels that this site allows; empty if it names none."""

    def fingerprint(self) -> str:
        """`sha256:…` over the names and contents of all files, and a site's own hashes."""
        digest = hash_files(self.files)
        if self.site_hashes:
            digest = hashlib.sha256(digest.encode() + self.site_hashes).hexdigest()
        return f"sha256:{digest}"

    def hashes(self) -> str:
        """The hashes that its packages are held to: `published`, less some, or with a `site`'s."""
        if self.site_hashes:
            return "site"
        unhashed = UNHASHED.findall(self._text(f"{self.folder}/requirements.hashes.txt"))
        return f"published, none for {', '.join(unhashed)}" if unhashed else "published"

    def base_image(self) -> str | None:
        named = BASE_IMAGE.search(self._text(self.dockerfile))
        return named[1] if named else None

    def pinned_base(self) -> str | None:
        """The same as `name:tag@sha256:…`; None if its digest is not known."""
        base = self.base_image()
        digests = json.loads(self._text("images/bases.json") or "{}")
        digest = digests.get(base)
        return f"{base}@{digest}" if digest else None

    def context(self) -> io.BytesIO:
        contents = {name: path.read_bytes() for name, path in self.files.items()}
        if self.site_hashes:
            contents[f"{self.folder}/{SITE_HASHES}"] = self.site_hashes
        return _archive(contents)

    @property
    def dockerfile(self) -> str:
        return f"{self.folder}/Dockerfile"

    def _text(self, name: str) -> str:
        return self.files[name].read_text("utf-8") if name in self.files else ""


def _archive(contents: Mapping[str, bytes]) -> io.BytesIO:
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    buffer.seek(0)
    return buffer


@dataclass(frozen=True)
class SourceFolders:
    """The folders that images are built from."""

    images: Path
    """Dockerfiles, pins and scripts: a link in a checkout, the files themselves in a wheel."""
    runner: Path
    """The program inside."""

    @classmethod
    def of(cls, checkout: Path) -> "SourceFolders":
        return cls(checkout / "images", checkout / "runner")


OUR_FOLDERS = SourceFolders(Path(__file__).with_name("sources"), Path(runner.__file__).parent)


@cache
def runner_digest() -> str:
    """SHA-256 over the runner's sources: what measures, on whichever host."""
    return hash_files(
        dict(sorted(_named("runner", OUR_FOLDERS.runner, _files(OUR_FOLDERS.runner)).items()))
    )


def find_source(
    name: str, folders: SourceFolders = OUR_FOLDERS, site_hashes: bytes = b""
) -> ImageSource | None:
    own = folders.images / name
    if not (own / "Dockerfile").is_file():
        return None
    shared = {path for path in folders.images.iterdir() if not path.name.startswith(".")}
    files = {
        **_named("images", folders.images, (shared | {*_files(own)}) - {own / SITE_HASHES}),
        **_named("runner", folders.runner, _files(folders.runner)),
    }
    return ImageSource(f"images/{name}", dict(sorted(files.items())), site_hashes)


def _named(prefix: str, folder: Path, paths: Iterable[Path]) -> dict[str, Path]:
    return {
        f"{prefix}/{path.relative_to(folder).as_posix()}": path for path in paths if path.is_file()
    }


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if not any(part == "__pycache__" or part.startswith(".") for part in parts):
            yield path
