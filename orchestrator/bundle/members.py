"""Members of an archive, read as what they should be."""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from orchestrator.bundle import manifest as names
from orchestrator.bundle.archive import BROKEN, Member, checksums, sha256
from orchestrator.errors import StoreError

_Model = TypeVar("_Model", bound=BaseModel)


class Unsound(Exception):
    """What is wrong; nothing more can be said."""

    def __init__(self, *faults: str) -> None:
        super().__init__(faults)
        self.faults = faults


def member_faults(archive: zipfile.ZipFile) -> list[str]:
    """What is missing, extra or damaged."""
    present = set(archive.namelist())
    faults = [f"{name}: is missing" for name in sorted(names.REQUIRED - present)]
    if names.SUMS not in present:
        return faults
    known = _checksums(archive)
    if known is None:
        return [*faults, f"{names.SUMS}: is not a list of checksums"]
    listed = known.keys() - names.REQUIRED
    faults += [f"{name}: is missing" for name in sorted(listed - present)]
    for name in sorted(present - {names.SUMS}):
        faults += _damage(archive, name, known.get(name))
    return faults


def _checksums(archive: zipfile.ZipFile) -> Mapping[str, str] | None:
    try:
        return checksums(archive.read(names.SUMS).decode())
    except BROKEN:
        return None


def _damage(archive: zipfile.ZipFile, name: str, known: str | None) -> list[str]:
    if known is None:
        return [f"{name}: is not in {names.SUMS}"]
    try:
        found = sha256(Member(archive, archive.getinfo(name)))
    except BROKEN as error:
        return [f"{name}: is damaged: {error}"]
    return [] if found == known else [f"{name}: is not what its checksum says"]


def list_of(archive: zipfile.ZipFile, name: str) -> list[dict[str, Any]]:
    """The objects of a list.

    Raises:
        Unsound: it is not.
    """
    found = json_of(archive, name)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Unsound(f"{name}: is not a list of objects")
    return found


def json_of(archive: zipfile.ZipFile, name: str) -> Any:
    """A value in JSON.

    Raises:
        Unsound: it is not.
    """
    try:
        return json.loads(text_of(archive, name))
    except (ValueError, RecursionError) as error:
        raise Unsound(f"{name}: is not JSON: {error}") from error


def text_of(archive: zipfile.ZipFile, name: str) -> str:
    """A text in UTF-8.

    Raises:
        Unsound: it is not.
    """
    try:
        return archive.read(name).decode()
    except UnicodeDecodeError as error:
        raise Unsound(f"{name}: is not UTF-8: {error}") from error


def valid(model: type[_Model], said: object, name: str) -> _Model:
    """What a member said, as a frozen value.

    Raises:
        Unsound: it is not.
    """
    try:
        return model.model_validate(said)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Unsound(f"{name}: {place}: {first['msg']}") from error


def extracted(archive: zipfile.ZipFile, name: str, folder: Path) -> Path:
    """A copy of the member in this folder.

    Raises:
        OSError: the file system refused.
    """
    path = folder / name
    with archive.open(name) as member, path.open("wb") as file:
        shutil.copyfileobj(member, file)
    return path


@contextmanager
def unpacking(bundle: Path) -> Iterator[None]:
    """Say in one line that there is no room for what is taken out of the bundle.

    Raises:
        StoreError: the file system refused.
    """
    try:
        yield
    except OSError as error:
        place = f"the temporary folder {tempfile.tempdir}" if tempfile.tempdir else "no folder"
        raise StoreError(
            f"{bundle}: cannot be unpacked into {place}: {error.strerror or error}",
            hint="free some space there, or let `TMPDIR` name another folder",
        ) from error
