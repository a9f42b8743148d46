"""Hashes of large files are computed once, and again when a file is another one."""

import os
from pathlib import Path

import pytest

from orchestrator.system import known_hashes
from orchestrator.system.known_hashes import cache_folder, hash_once

HASHES = [f"sha256:{digit * 64}" for digit in "0123"]
LATER_NS = 10**10


class Hashed:
    """A file, and the hashes that are computed of it one after the other."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "model.safetensors"
        self.file.write_bytes(b"weights")
        self.computed = 0

    def hash(self, wait_ns: int = LATER_NS) -> str:
        """The hash, asked for so long after the file's last change."""
        changed_ns = self.file.stat().st_ctime_ns
        return hash_once([self.file], self._compute, lambda: changed_ns + wait_ns)

    def _compute(self) -> str:
        self.computed += 1
        return HASHES[self.computed - 1]


@pytest.fixture
def hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hashed:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    known_hashes._here.clear()
    return Hashed(tmp_path)


def test_another_process_knows_it_too(hashed: Hashed) -> None:
    assert hashed.hash() == hashed.hash() == HASHES[0]
    known_hashes._here.clear()
    assert hashed.hash() == HASHES[0]


@pytest.mark.parametrize("change", ["bytes", "time", "inode"])
def test_a_file_that_changed_is_read_again(hashed: Hashed, change: str) -> None:
    hashed.hash()
    if change == "time":
        os.utime(hashed.file, ns=(0, 0))
    else:
        if change == "inode":
            hashed.file.rename(hashed.file.with_suffix(".old"))
        hashed.file.write_bytes(b"WEIGHTS" if change == "inode" else b"longer weights")
    assert hashed.hash() == HASHES[1]


def test_of_a_file_that_has_just_changed_nothing_is_kept(hashed: Hashed) -> None:
    assert hashed.hash(wait_ns=10**9) == HASHES[0]
    assert hashed.hash() == HASHES[1]
    assert hashed.hash() == HASHES[1]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"a": 1}', b'{"a": "sha256:x"}', b"\xff" * 99, b"[" * 99_999],
)
def test_a_damaged_file_is_made_anew(hashed: Hashed, content: bytes) -> None:
    hashed.hash()
    (cache_folder() / "weights.json").write_bytes(content)
    for _ in range(2):
        known_hashes._here.clear()
        assert hashed.hash() == HASHES[1]
    assert [path.name for path in cache_folder().iterdir()] == ["weights.json"]


@pytest.mark.parametrize("obstacle", ["file", "fifo", "link"])
def test_a_cache_that_cannot_be_written_costs_time_alone(
    hashed: Hashed, obstacle: str, tmp_path: Path
) -> None:
    if obstacle == "file":
        (tmp_path / "cache").write_text("no folder")
    else:
        cache_folder().mkdir(parents=True)
        path = cache_folder() / "weights.json"
        os.mkfifo(path) if obstacle == "fifo" else path.symlink_to(hashed.file)
    assert hashed.hash() == hashed.hash() == HASHES[0]
    assert hashed.file.read_bytes() == b"weights"
