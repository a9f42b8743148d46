"""Zip archives: written so that the same content has the same bytes, and read with suspicion."""

import hashlib
import json
import re
import shutil
import stat
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from orchestrator.bundles import manifest
from orchestrator.bundles.manifest import SUMS
from runner.contract.errors import StoreError

CHUNK = 1 << 20
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The oldest time that a zip archive can tell, since ours shall tell none."""
MODE = (stat.S_IFREG | 0o644) << 16
ENCRYPTED = 0x1
BROKEN = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError)
"""What `zipfile` raises at archives that are damaged, or of a kind that it does not know."""
_SAFE = re.compile(r"[\w%.+-]+(/[\w%.+-]+)*")
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


@dataclass(frozen=True)
class Member:
    """One of an archive that is being read."""

    archive: zipfile.ZipFile
    info: zipfile.ZipInfo


Content = bytes | Path | Member


class Writable(Protocol):
    """What an archive is written to; one that can seek too gets plain headers."""

    def write(self, data: bytes, /) -> int:
        """Take these bytes; returns how many."""

    def flush(self) -> None:
        """Hold nothing back."""

    def close(self) -> None:
        """Take no more."""


def write_archive(file: IO[bytes], members: Mapping[str, Content]) -> None:
    """Write the members, and their checksums as another one, uncompressed.

    Raises:
        OSError: the file system refused.
    """
    sums = "".join(f"{sha256(members[name])}  {name}\n" for name in sorted(members))
    pack(file, {**members, SUMS: sums.encode()})


def pack(file: Writable, members: Mapping[str, Content]) -> None:
    """Write the members alone; the same ones give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, EPOCH)
            info.external_attr, info.create_system = MODE, 3
            info.file_size = size(members[name])
            with archive.open(info, "w") as member:
                for chunk in _chunks(members[name]):
                    member.write(chunk)


def size(content: Content) -> int:
    """Its bytes."""
    if isinstance(content, Member):
        return content.info.file_size
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def sha256(content: Content) -> str:
    """Its SHA-256 in hex; of a member that is damaged, raises one of `BROKEN`."""
    digest = hashlib.sha256()
    for chunk in _chunks(content):
        digest.update(chunk)
    return digest.hexdigest()


def unsafe(archive: zipfile.ZipFile, size_bytes: int) -> list[str]:
    """Why its members had better not be read; empty for archives like ours."""
    infos = archive.infolist()
    names = [info.filename for info in infos]
    faults = [fault for info in infos if (fault := _unsafe_member(info))]
    faults += [f"{name}: is in it more than once" for name, n in Counter(names).items() if n > 1]
    declared = sum(info.file_size for info in infos)
    if declared > size_bytes:
        faults.append(f"its members claim {declared:,} bytes, and all of it has {size_bytes:,}")
    return faults


def checksums(text: str) -> dict[str, str] | None:
    """SHA-256 by name as the file of checksums tells them; None if that is not what it is."""
    found = [_LINE.fullmatch(line) for line in text.splitlines()]
    whole = [match for match in found if match is not None]
    return {match[2]: match[1] for match in whole} if len(whole) == len(found) else None


def _unsafe_member(info: zipfile.ZipInfo) -> str | None:
    name = info.filename
    if not _SAFE.fullmatch(name) or {".", ".."} & {*name.split("/")}:
        return f"{name!r}: is no name for a member, and could lead out of the archive"
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in {0, stat.S_IFREG}:
        return f"{name}: is not a plain file but a link or the like"
    if info.flag_bits & ENCRYPTED:
        return f"{name}: is encrypted"
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        return f"{name}: is compressed; members of a bundle are stored as they are"
    return None


def _chunks(content: Content) -> Iterator[bytes]:
    with _opened(content) as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _opened(content: Content) -> IO[bytes]:
    if isinstance(content, bytes):
        return BytesIO(content)
    if isinstance(content, Path):
        return content.open("rb")
    return content.archive.open(content.info)


_Model = TypeVar("_Model", bound=BaseModel)


class Unsound(Exception):
    """What is wrong; nothing more can be said."""

    def __init__(self, *faults: str) -> None:
        super().__init__(faults)
        self.faults = faults


def member_faults(archive: zipfile.ZipFile) -> list[str]:
    """What is missing, extra or damaged."""
    present = set(archive.namelist())
    faults = [f"{name}: is missing" for name in sorted(manifest.REQUIRED - present)]
    if manifest.SUMS not in present:
        return faults
    known = _checksums(archive)
    if known is None:
        return [*faults, f"{manifest.SUMS}: is not a list of checksums"]
    listed = known.keys() - manifest.REQUIRED
    faults += [f"{name}: is missing" for name in sorted(listed - present)]
    for name in sorted(present - {manifest.SUMS}):
        faults += _damage(archive, name, known.get(name))
    return faults


def _checksums(archive: zipfile.ZipFile) -> Mapping[str, str] | None:
    try:
        return checksums(archive.read(manifest.SUMS).decode())
    except BROKEN:
        return None


def _damage(archive: zipfile.ZipFile, name: str, known: str | None) -> list[str]:
    if known is None:
        return [f"{name}: is not in {manifest.SUMS}"]
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
