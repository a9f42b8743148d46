"""Atomic writes, and hashes of files."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from runner.contract.errors import DamagedFile
from runner.contract.files import (
    atomic_file,
    hash_files,
    open_plain,
    plain_fault,
    read_plain,
    remove_unfinished,
)

FILES = (Path("a/b.py"), Path("c.py"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.py").write_text("one")
    (tmp_path / "c.py").write_text("two")
    return tmp_path


def below(root: Path, files: Sequence[Path] = FILES) -> dict[str, Path]:
    return {path.as_posix(): root / path for path in files}


def test_the_same_files_elsewhere_have_the_same_hash(root: Path) -> None:
    other = root / "elsewhere"
    (other / "a").mkdir(parents=True)
    for file in FILES:
        (other / file).write_text((root / file).read_text())
    assert hash_files(below(other)) == hash_files(below(root))


def test_names_contents_and_the_border_between_them_count(root: Path) -> None:
    orders = (FILES, FILES[:1], FILES[::-1])
    known = {hash_files(below(root, files)) for files in orders}
    (root / "a/b.py").write_text("onet")
    (root / "c.py").write_text("wo")
    known.add(hash_files(below(root)))
    (root / "d.py").write_text("wo")
    known.add(hash_files(below(root, (FILES[0], Path("d.py")))))
    assert len(known) == 5


def interrupt(path: Path) -> None:
    with atomic_file(path) as file:
        file.write(b"half of")
        raise KeyboardInterrupt


def test_an_interrupted_writer_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "record.parquet"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        interrupt(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_writer_left_is_dropped_and_nothing_else(tmp_path: Path) -> None:
    kept = [tmp_path / name for name in ("record.parquet", "user.tmp", ".hidden")]
    for path in [*kept, tmp_path / ".record.parquet.tmp"]:
        path.write_text("content")
    remove_unfinished(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def _symbolic_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def _dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def _hard_link(path: Path) -> None:
    (path.parent / "original").write_bytes(b"content")
    path.hardlink_to(path.parent / "original")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


NO_PLAIN_FILES = [
    (_symbolic_link, "symbolic link"),
    (_dangling_link, "symbolic link"),
    (_hard_link, "2 names"),
    (_socket, "socket"),
    (os.mkfifo, "FIFO"),
    (Path.mkdir, "folder"),
    (_sparse, "1,099,511,627,776 bytes; at most 100 are allowed"),
]


@pytest.mark.timeout(10)
@pytest.mark.parametrize(("make", "reason"), NO_PLAIN_FILES)
def test_what_is_no_plain_file_is_refused_at_once(make, reason, tmp_path):
    path = tmp_path / "file"
    make(path)
    with pytest.raises(DamagedFile, match=reason):
        read_plain(path, 100)
    assert reason in str(plain_fault(path, 100))


def test_a_plain_file_is_read_whole(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read_plain(path, 100) == b"x" * 100
    assert plain_fault(path, 100) is None


def test_a_file_that_the_user_named_may_have_more_names(tmp_path):
    path = tmp_path / "file"
    _hard_link(path)
    assert read_plain(path, 100, is_named=True) == b"content"
    with open_plain(path, 100, is_named=True) as file:
        assert file.read() == b"content"


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    real = os.fstat

    def grow(handle):
        status = real(handle)
        path.write_bytes(b"z" * 200)
        return status

    path.write_bytes(b"x" * 100)
    monkeypatch.setattr(os, "fstat", grow)
    with pytest.raises(DamagedFile, match="at most 100"):
        read_plain(path, 100)


def test_a_device_is_not_read():
    with pytest.raises(DamagedFile, match="a device"):
        read_plain(Path("/dev/zero"), 100)
