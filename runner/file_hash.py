"""One hash for many files."""

import hashlib
from collections.abc import Iterable
from pathlib import Path


def hash_of(root: Path, files: Iterable[Path]) -> str:
    """SHA-256 over names and contents of files in this order, in hex; paths start from `root`."""
    digest = hashlib.sha256()
    for path in files:
        content = (root / path).read_bytes()
        digest.update(f"{path.as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
