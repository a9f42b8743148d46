"""Opening what others wrote: plain files alone, and never a wait."""

import os
import socket
from pathlib import Path

import pytest

from runner.contract.errors import DamagedFile
from runner.contract.files import plain_fault, read_plain


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
