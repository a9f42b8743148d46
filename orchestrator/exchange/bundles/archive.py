"""Bundles as zip archives: the same members give the same bytes; all are checked before reading."""

import hashlib
import os
import re
import shutil
import stat
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import IO, Annotated, Any, Literal, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, Field, NonNegativeInt, PositiveInt, ValidationError

from orchestrator.store.schema.sources import Run
from orchestrator.system.plain_data import parse_json
from orchestrator.system.zip_files import ZIP_ERRORS
from runner.contract.cell import Frozen
from runner.contract.errors import DamagedFile

_CHUNK_BYTES = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The oldest time that a zip archive can hold: ours hold none."""
_MODE = (stat.S_IFREG | 0o644) << 16
_UNIX = 3
_ENCRYPTED = 0x1
_MAX_16, _MAX_32 = 0xFFFF, 0xFFFFFFFF
_END, _END_BYTES = b"PK\5\6", 22
_END_64, _END_64_BYTES = b"PK\6\6", 56 + 20
DIRECTORY_BYTES = 8 << 20
"""Most bytes of an archive's directory, which has some 100 for each run."""
_SAFE_NAME = re.compile(r"[\w%.+-]+(/[\w%.+-]+)*")
_SUM = re.compile(r"([0-9a-f]{64})  (.+)")
_Model = TypeVar("_Model", bound=BaseModel)

BUNDLE_VERSION = 1
"""Raised with every change of the members that an older AccelMatrix could not read."""


class Member(StrEnum):
    """Members that every bundle has, beside `matrices/<run_id>.yaml`, the matrix of a run."""

    MANIFEST = "manifest.json"
    SUMS = "SHA256SUMS"
    """A line for every other member, as `sha256sum --check` reads it."""
    RUNS = "runs.json"
    RECORDS = "records.parquet"
    HARDWARE = "hardware.json"
    """The machines behind the records."""
    ENVIRONMENTS = "environments.json"
    """The software behind them."""
    ARTEFACTS = "artefacts.json"
    """Digests of the images, graphs and weights behind them."""


class BundleCounts(Frozen):
    """Numbers of runs, records and what they refer to."""

    runs: NonNegativeInt
    records: NonNegativeInt
    hosts: NonNegativeInt
    matrices: NonNegativeInt
    hardware: NonNegativeInt
    environments: NonNegativeInt
    artefacts: NonNegativeInt


class BundleManifest(Frozen):
    """Facts of a bundle about itself."""

    format: Literal["accelmatrix-bundle"] = "accelmatrix-bundle"
    version: PositiveInt = BUNDLE_VERSION
    accelmatrix: str
    record_version: PositiveInt
    scratch: bool
    """True if it comes from a scratch database, and may hold rows that no device measured."""
    counts: BundleCounts
    members: Mapping[str, NonNegativeInt]
    """Bytes of each member by name, this one and the checksums left out."""


class RunEntry(Run):
    """One run in `runs.json`, with the name of its matrix's member; numbers fit the database."""

    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    planned: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    described: bool


def matrix_name(run_id: str) -> str:
    return f"matrices/{quote(run_id, safe='')}.yaml"


_REQUIRED = frozenset(map(str, Member))
MemberContent = bytes | Path


def write_archive(file: IO[bytes], members: Mapping[str, MemberContent]) -> None:
    """Write the members, and their checksums as another one, uncompressed."""
    sums = "".join(f"{sha256(members[name])}  {name}\n" for name in sorted(members))
    members = {**members, Member.SUMS: sums.encode()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            info = _header(name, size(members[name]))
            with _open(members[name]) as content, archive.open(info, "w") as member:
                shutil.copyfileobj(content, member, _CHUNK_BYTES)


def open_archive(file: IO[bytes]) -> zipfile.ZipFile:
    """Open an archive, unless its directory alone would take all memory."""
    length = file.seek(0, os.SEEK_END)
    file.seek(max(0, length - _MAX_16 - _END_BYTES - _END_64_BYTES))
    declared = min(length, _directory_bytes(file.read()))
    if declared > DIRECTORY_BYTES:
        raise DamagedFile(
            f"its directory has {declared:,} bytes; at most {DIRECTORY_BYTES:,} are allowed"
        )
    try:
        return zipfile.ZipFile(file)
    except ZIP_ERRORS as error:
        raise DamagedFile(f"not a whole zip archive: {error}") from error


def _directory_bytes(tail: bytes) -> int:
    """The size that the end of an archive declares, by whichever record a reader takes."""
    ends = [match.start() for match in re.finditer(re.escape(_END), tail)]
    sizes = [int.from_bytes(tail[end + 12 : end + 16], "little") for end in ends]
    large = [match.start() for match in re.finditer(re.escape(_END_64), tail)]
    sizes += [int.from_bytes(tail[end + 40 : end + 48], "little") for end in large]
    return max((size for size in sizes if size != _MAX_32), default=0)


def size(content: MemberContent) -> int:
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def sha256(content: MemberContent) -> str:
    """SHA-256 of a member to be written, or of a file, in hex."""
    with _open(content) as file:
        return content_sha256(file)


def is_exact(archive: zipfile.ZipFile, file: IO[bytes]) -> bool:
    """True if the file has no byte beside its members but the headers and ends that we write."""
    infos = []
    file.seek(0)
    for known in sorted(archive.infolist(), key=lambda info: info.filename):
        info = _header(known.filename, known.file_size)
        info.compress_size, info.CRC = known.file_size, known.CRC
        info.header_offset = file.tell()
        # As `zipfile` decides before it knows the size.
        header = info.FileHeader(zip64=info.file_size * 1.05 > zipfile.ZIP64_LIMIT)
        if file.read(len(header)) != header:
            return False
        file.seek(info.file_size, os.SEEK_CUR)
        infos.append(info)
    directory = _directory(infos, file.tell())
    return file.read(len(directory) + 1) == directory


def unsafe_members(archive: zipfile.ZipFile, size_bytes: int) -> list[str]:
    """Reasons not to read the members at all; empty for archives like ours."""
    infos = archive.infolist()
    names = Counter(info.filename for info in infos)
    faults = [fault for info in infos if (fault := _unsafe_member(info))]
    faults += [f"{name}: is in it more than once" for name, count in names.items() if count > 1]
    declared = sum(info.file_size for info in infos)
    if declared > size_bytes:
        faults.append(f"its members claim {declared:,} bytes, and all of it has {size_bytes:,}")
    return faults


def damaged_members(archive: zipfile.ZipFile) -> list[str]:
    """Members that are missing, extra or damaged, by their checksums."""
    present = set(archive.namelist())
    faults = [f"{name}: is missing" for name in sorted(_REQUIRED - present)]
    if Member.SUMS not in present:
        return faults
    sums = _checksums(archive)
    if sums is None:
        return [*faults, f"{Member.SUMS}: is not a list of checksums"]
    faults += [f"{name}: is missing" for name in sorted(sums.keys() - _REQUIRED - present)]
    for name in sorted(present - {Member.SUMS}):
        faults += _damage(archive, name, sums.get(name))
    return faults


def read_list(archive: zipfile.ZipFile, name: str) -> list[dict[str, Any]]:
    rows = read_json(archive, name)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DamagedFile(f"{name}: is not a list of objects")
    return rows


def read_json(archive: zipfile.ZipFile, name: str) -> Any:
    try:
        return parse_json(read_text(archive, name))
    except ValueError as error:
        raise DamagedFile(f"{name}: {error}") from error


def read_text(archive: zipfile.ZipFile, name: str) -> str:
    try:
        return archive.read(name).decode()
    except UnicodeDecodeError as error:
        raise DamagedFile(f"{name}: is not UTF-8: {error}") from error


def validated(model: type[_Model], data: object, name: str) -> _Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise DamagedFile(f"{name}: {field}: {first['msg']}") from error


def _header(name: str, size_bytes: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr, info.create_system = _MODE, _UNIX
    info.file_size = size_bytes
    return info


class _Tail(BytesIO):
    """The end of a file, from an offset on."""

    def __init__(self, offset: int) -> None:
        super().__init__()
        self._offset = offset

    def tell(self) -> int:
        return super().tell() + self._offset

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return super().seek(offset - self._offset, whence) + self._offset


def _directory(infos: Sequence[zipfile.ZipInfo], offset: int) -> bytes:
    """The central directory and the end record, as `zipfile` writes them at this offset."""
    tail = _Tail(offset)
    with zipfile.ZipFile(tail, "w") as archive:
        archive.filelist += infos
    return tail.getvalue()


def _unsafe_member(info: zipfile.ZipInfo) -> str | None:
    name = info.filename
    if not _SAFE_NAME.fullmatch(name) or {".", ".."} & {*name.split("/")}:
        return f"{name!r}: is no name for a member, and could lead out of the archive"
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in {0, stat.S_IFREG}:
        return f"{name}: is not a plain file but a link or the like"
    if info.flag_bits & _ENCRYPTED:
        return f"{name}: is encrypted"
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        return f"{name}: is compressed; members of a bundle are stored as they are"
    return None


def _checksums(archive: zipfile.ZipFile) -> dict[str, str] | None:
    """SHA-256 by name, as the member of checksums lists them; None if it is no such list."""
    try:
        lines = archive.read(Member.SUMS).decode().splitlines()
    except ZIP_ERRORS:
        return None
    matches = [match for line in lines if (match := _SUM.fullmatch(line))]
    return {match[2]: match[1] for match in matches} if len(matches) == len(lines) else None


def _damage(archive: zipfile.ZipFile, name: str, checksum: str | None) -> list[str]:
    if checksum is None:
        return [f"{name}: is not in {Member.SUMS}"]
    try:
        with archive.open(name) as member:
            actual = content_sha256(member)
    except ZIP_ERRORS as error:
        return [f"{name}: is damaged: {error}"]
    return [] if actual == checksum else [f"{name}: is not what its checksum says"]


def _open(content: MemberContent) -> IO[bytes]:
    return BytesIO(content) if isinstance(content, bytes) else content.open("rb")


def content_sha256(file: IO[bytes]) -> str:
    """SHA-256 of the rest of an open file, in hex."""
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()
