"""Hashes of files: of one, and one for many."""

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


def sha256_of(path: Path) -> str:
    """SHA-256 of the file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
