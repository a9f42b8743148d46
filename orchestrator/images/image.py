"""An image as the engine holds it, its labels, and the trust in it."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from orchestrator.backends.catalogue import SupportClass
from orchestrator.system.files import translate_os_errors
from runner.contract.axes import Backend
from runner.contract.errors import DamagedFile
from runner.contract.files import read_plain_text, write_atomic

STATE_VARIABLE = "ACCELMATRIX_STATE"
"""Names the folder of what is remembered between runs."""
TRUST_LABEL = "org.accelmatrix.image"
"""The label with an image's trust. The orchestrator alone says it; an image's own is left out."""
MOST_BUILDS = 1000
"""Builds that are remembered; older ones are forgotten, and made again from the engine's cache."""

ImageTrust = Literal["built here", "published digest", "chosen by the user", "image not verified"]
"""`published digest`: the digest stands in `images.lock`."""


class BuiltImages:
    """The ids of the images that were built here, each with its name and its source.

    Without a file they are remembered as long as the object lives.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._builds: dict[str, dict[str, str]] = {}

    def source(self, name: str, image_id: str) -> str | None:
        """The fingerprint of what this image was built from; None unless it was built here."""
        build = self._read().get(image_id, {})
        return build.get("source") if build.get("name") == name else None

    def holds(self, image_id: str) -> bool:
        return image_id in self._read()

    def add(self, name: str, image_id: str, source: str) -> None:
        from filelock import FileLock

        build = {"name": name, "source": source}
        self._builds[image_id] = build
        if self._file is None:
            return
        hint = f"name a folder of yours in {STATE_VARIABLE}"
        with translate_os_errors(self._file, "built images cannot be kept here", hint):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._file.with_suffix(".lock")):
                builds = self._read()
                builds.pop(image_id, None)
                newest = [*builds.items(), (image_id, build)][-MOST_BUILDS:]
                write_atomic(self._file, json.dumps(dict(newest), indent=1) + "\n")

    def _read(self) -> dict[str, dict[str, str]]:
        """All that is remembered; a file that is damaged or somebody else's counts as none."""
        if self._file is None:
            return dict(self._builds)
        with suppress(OSError, DamagedFile, ValueError, RecursionError):
            if self._file.stat().st_uid not in {os.getuid(), 0}:
                return dict(self._builds)
            content = json.loads(read_plain_text(self._file))
            if _are_builds(content):
                return {**self._builds, **content}
        return dict(self._builds)


def _are_builds(content: object) -> bool:
    return isinstance(content, dict) and all(
        isinstance(build, dict) and all(isinstance(text, str) for text in build.values())
        for build in content.values()
    )


def state_file(environment: Mapping[str, str]) -> Path | None:
    """The file of built images; None for a user without a home."""
    if folder := environment.get(STATE_VARIABLE):
        return Path(folder) / "built-images.json"
    if base := environment.get("XDG_STATE_HOME"):
        return Path(base) / "accelmatrix" / "built-images.json"
    home = environment.get("HOME")
    return Path(home) / ".local/state/accelmatrix/built-images.json" if home else None


BACKEND_LABEL = "org.accelmatrix.backend"
HASHES_LABEL = "org.accelmatrix.hashes"
BASE_LABEL = "org.accelmatrix.base"
SOURCE_LABEL = "org.accelmatrix.source"
VERSION_LABEL = "org.opencontainers.image.version"
REVISION_LABEL = "org.opencontainers.image.revision"


@dataclass(frozen=True)
class Image:
    """One image on this machine's engine."""

    reference: str
    id: str
    """The engine's own `sha256:…`."""
    digest: str
    """The registry's `sha256:…` if the image was pushed or pulled, else the id."""
    labels: Mapping[str, str]
    """All its labels, and our own word on its trust."""
    architecture: str
    """Of the processor, in the engine's words, e.g. `amd64`."""
    size_bytes: int
    """Size of its layers, bytes."""
    created: str
    """The time of its build, RFC 3339."""
    trust: ImageTrust = "image not verified"
    """The reason to believe that it is ours."""


@dataclass(frozen=True)
class ImageStatus:
    """One row of `images list`."""

    name: str
    """The image's name without `accelmatrix-`."""
    backends: tuple[Backend, ...]
    reference: str
    support_class: SupportClass | None
    """The support class of the first of these backends; None: this version has no such image."""
    image: Image | None
    fresh: bool
    """True if it is there, verified, and made of the files that are here."""


def read_image(reference: str, inspected: Mapping[str, Any]) -> Image:
    repository = image_repository(reference)
    digests = dict(item.split("@", 1) for item in inspected.get("RepoDigests") or ())
    return Image(
        reference=reference,
        id=inspected["Id"],
        digest=digests.get(repository, inspected["Id"]),
        labels=inspected["Config"].get("Labels") or {},
        architecture=inspected["Architecture"],
        size_bytes=inspected["Size"],
        created=inspected["Created"],
    )


def image_repository(reference: str) -> str:
    path, _, last = reference.partition("@")[0].rpartition("/")
    name = last.partition(":")[0]
    return f"{path}/{name}" if path else name
