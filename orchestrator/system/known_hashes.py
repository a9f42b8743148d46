"""Hashes of large files, kept in the user's cache folder until one of the files changes.

A file is known by device, inode, size and the times of its change. A clock's tick is long enough
for two changes; so nothing is kept of files that changed while or just before they were read, as
in Git's index ("racy Git", Documentation/technical/racy-git.txt).
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from runner.contract.errors import DamagedFile
from runner.contract.files import read_plain, write_atomic

_FILE = "weights.json"
_BYTES = 1 << 20
_MOST = 1_000
"""Hashes that are kept, the newest."""
_RACY_NS = 2_000_000_000
"""The longest tick of a file system's clock, FAT's, in nanoseconds."""
_HASHES = TypeAdapter(dict[str, Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]])
_here: dict[str, str] = {}
"""Those of this process, for users whose cache folder cannot be written."""


def cache_folder() -> Path:
    """The folder for what can be made again, of this user."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "accelmatrix"


def hash_once(
    files: Sequence[Path], compute: Callable[[], str], now_ns: Callable[[], int] = time.time_ns
) -> str:
    """The hash that is known of these files as they are, else the computed one."""
    before = _signature(files)
    known = _here | _kept()
    if before in known:
        return known[before]
    value = compute()
    newest = max(file.stat().st_ctime_ns for file in files)
    if _signature(files) == before and now_ns() - newest > _RACY_NS:
        _here[before] = value
        kept = dict([*_kept().items(), (before, value)][-_MOST:])
        with suppress(OSError, RuntimeError):
            cache_folder().mkdir(parents=True, exist_ok=True)
            write_atomic(cache_folder() / _FILE, json.dumps(kept, indent=0))
    return value


def _signature(files: Sequence[Path]) -> str:
    stats = [file.stat() for file in files]
    facts = [
        (one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for one in stats
    ]
    return hashlib.sha256(repr(sorted(facts)).encode()).hexdigest()


def _kept() -> dict[str, str]:
    """The hashes in the file; none if it is missing or damaged."""
    with suppress(OSError, RuntimeError, DamagedFile, ValueError):
        return _HASHES.validate_json(read_plain(cache_folder() / _FILE, _BYTES), strict=True)
    return {}
