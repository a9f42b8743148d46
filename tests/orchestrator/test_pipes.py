"""Pipes, devices and stdout are written to, and never replaced."""

import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from orchestrator.errors import MatrixError, StoreError
from orchestrator.outputs import new_file, require_free
from orchestrator.pipes import is_disk, is_stdout, is_stream, require_no_stream

NO_DATABASE = Path("benchmarks.duckdb")
FULL = Path("/dev/full")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named one."""
    os.mkfifo(tmp_path / "pipe.csv")
    return tmp_path / "pipe.csv"


def write(path: Path, content: bytes) -> None:
    with new_file(path) as file:
        file.write(content)


def test_files_and_folders_are_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    for path in (tmp_path, tmp_path / "a", tmp_path / "new", Path("new"), Path("/dev/shm/a.csv")):
        assert not is_stream(path)
        require_no_stream("--output", path)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/stderr", "/dev/fd/9", "/dev/null"])
def test_what_is_open_and_devices_are(name: str) -> None:
    assert is_stream(Path(name))
    assert not is_disk(Path(name))
    with pytest.raises(MatrixError, match=f"--output {name}: is a stream"):
        require_no_stream("--output", Path(name))


def test_stdout_has_several_names() -> None:
    assert all(is_stdout(Path(name)) for name in ("-", "/dev/stdout", "/dev/fd/1"))
    assert not any(is_stdout(path) for path in (None, Path("a"), Path("/dev/stderr")))


def test_a_pipe_gets_what_comes_and_stays(pipe: Path) -> None:
    require_free("--output", pipe, force=False, database=NO_DATABASE)
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    write(pipe, b"hello")
    reader.join()
    assert heard == [b"hello"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [each.name for each in pipe.parent.iterdir()] == ["pipe.csv"]


def test_a_link_to_a_device_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/null")
    write(tmp_path / "link", b"hello")
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_stdout_goes_on_where_it_was(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    sys.stdout.write("before ")
    write(Path(name), b"hello")
    sys.stdout.write(" behind")
    assert capsys.readouterr().out == "before hello behind"


def test_a_full_device_is_told() -> None:
    with pytest.raises(StoreError, match="/dev/full: cannot be written: No space left"):
        write(FULL, b"hello")


def test_a_reader_who_had_enough_is_no_error_of_ours(pipe: Path) -> None:
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def close_and_write() -> None:
        with new_file(pipe) as file:
            os.close(reader)
            file.write(b"hello")

    with pytest.raises(BrokenPipeError):
        close_and_write()
