"""What a command was asked to write appears whole or not at all, and replaces nothing unasked."""

import errno
import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from orchestrator.system.files import (
    file_hint,
    is_disk,
    is_stream,
    new_folder,
    output_file,
    output_folder,
    remove_half_made,
    require_free,
    require_free_folder,
    require_no_stream,
    translate_os_errors,
)
from orchestrator.system.trees import give_tree, remove_entry, remove_tree
from runner.contract.errors import StoreError, UsageError

NO_DATABASE = Path("benchmarks.duckdb")


def write_half(path: Path, interruption: type[BaseException]) -> None:
    with output_file(path) as file:
        file.write(b"new")
        raise interruption


def fill_half(path: Path, interruption: type[BaseException]) -> None:
    with output_folder(path) as folder:
        (folder / "new.txt").write_text("new")
        raise interruption


def is_text(path: Path) -> bool:
    return path.suffix == ".txt"


def test_a_file_gets_its_name_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.txt"
    with output_file(path) as file:
        file.write(b"hello")
        assert not path.exists()
    assert path.read_bytes() == b"hello"
    assert [each.name for each in path.parent.iterdir()] == ["a.txt"]


def test_a_new_folder_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "out"
    for name in ("old.txt", "new.txt"):
        with output_folder(path) as folder:
            (folder / name).write_text(name)
    assert [each.name for each in path.iterdir()] == ["new.txt"]
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, ValueError])
def test_what_was_not_finished_leaves_the_old_file_or_folder(
    tmp_path: Path, interruption: type[BaseException]
) -> None:
    file, folder = tmp_path / "a.txt", tmp_path / "out"
    folder.mkdir()
    for old in (file, folder / "old.txt"):
        old.write_text("old")
    with pytest.raises(interruption):
        write_half(file, interruption)
    with pytest.raises(interruption):
        fill_half(folder, interruption)
    assert file.read_text() == "old"
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["a.txt", "old.txt", "out"]


def test_what_a_kill_left_behind_is_swept_up(tmp_path: Path) -> None:
    (tmp_path / ".out.tmp").mkdir()
    (tmp_path / ".out.tmp" / "half").write_text("")
    with output_folder(tmp_path / "out") as folder:
        (folder / "a.txt").write_text("")
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["a.txt", "out"]


def test_a_new_folder_appears_whole_and_what_the_dead_had_begun_goes(tmp_path: Path) -> None:
    with new_folder(tmp_path / "run") as unfinished:
        (unfinished / "a.txt").write_text("")
        assert not (tmp_path / "run").exists()
        remove_half_made(tmp_path)
        assert unfinished.exists()
    with pytest.raises(OSError, match="not empty"), new_folder(tmp_path / "run"):
        pass
    (tmp_path / ".other.99999999.half-made").mkdir()
    remove_half_made(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.txt", "run"]


@pytest.mark.parametrize("write", [write_half, fill_half])
def test_where_nothing_can_be_written_the_error_says_so(
    tmp_path: Path, write: Callable[[Path, type[BaseException]], None]
) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot be written: (Not a directory|File exists)") as e:
        write(tmp_path / "file" / "out", KeyboardInterrupt)
    assert "nothing is left behind" in str(e.value.hint)


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.ENOSPC, "free some space on its disk"),
        (errno.EACCES, "see its owner and mode"),
        (errno.ENOTDIR, "move away what is in its place"),
    ],
)
def test_the_hint_fits_the_error(code: int, remedy: str) -> None:
    error = OSError(code, os.strerror(code), "a file")
    with pytest.raises(StoreError) as caught, translate_os_errors(Path("record.parquet")):
        raise error
    assert str(caught.value) == f"record.parquet: cannot be written: {os.strerror(code)}"
    hint = str(caught.value.hint)
    assert remedy in hint
    assert hint.endswith(", then `orchestrator run --resume last`")
    quoted = duckdb.IOException(f'IO Error: Could not write file "a": {os.strerror(code)}')
    assert remedy in file_hint(quoted)
    assert file_hint(error, "do nothing") == "do nothing"


def test_what_is_there_stays_without_force(tmp_path: Path) -> None:
    path = tmp_path / "old.txt"
    path.write_text("old")
    with pytest.raises(UsageError, match=r"--output .*old\.txt: exists already"):
        require_free("--output", path, force=False, database=NO_DATABASE)
    with pytest.raises(UsageError, match="exists already"):
        require_free_folder("--output", tmp_path, force=False, is_export=is_text)
    require_free("--output", path, force=True, database=NO_DATABASE)
    require_free_folder("--output", tmp_path, force=True, is_export=is_text)


def test_a_file_never_replaces_a_folder_or_the_database_nor_a_folder_a_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        require_free("--output", tmp_path, force=True, database=NO_DATABASE)
    database = tmp_path / "benchmarks.duckdb"
    database.write_text("")
    (tmp_path / "same").symlink_to(database)
    for name in ("benchmarks.duckdb", "same"):
        with pytest.raises(UsageError, match="is the database itself"):
            require_free("--output", tmp_path / name, force=True, database=database)
    with pytest.raises(UsageError, match="is a file"):
        require_free_folder("--output", database, force=True, is_export=is_text)


def test_a_folder_is_replaced_behind_its_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    with output_folder(link) as folder:
        (folder / "a.txt").write_text("")
    assert [each.name for each in (tmp_path / "real").iterdir()] == ["a.txt"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "real"]


def test_force_spares_folders_that_hold_something_else(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("")
    (folder / "deep" / "thesis.tex").write_text("")
    with pytest.raises(UsageError, match=r"holds deep/thesis\.tex, which no export made"):
        require_free_folder("--output", folder, force=True, is_export=is_text)


FULL = Path("/dev/full")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe.csv")
    return tmp_path / "pipe.csv"


def write(path: Path, content: bytes) -> None:
    with output_file(path) as file:
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
    with pytest.raises(UsageError, match=f"--output {name}: is a stream"):
        require_no_stream("--output", Path(name))


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
        with output_file(pipe) as file:
            os.close(reader)
            file.write(b"hello")

    with pytest.raises(BrokenPipeError):
        close_and_write()


HERE = os.getuid(), os.getgid()


def deep(folder: Path) -> None:
    """Folders that nest deeper than the longest path."""
    before = Path.cwd()
    try:
        os.chdir(folder)
        for _ in range(40):
            Path("d" * 200).mkdir()
            os.chdir("d" * 200)
        Path("file").touch()
    finally:
        os.chdir(before)


def closed(folder: Path) -> None:
    (folder / "closed" / "more").mkdir(parents=True)
    (folder / "closed").chmod(0)


def odd(folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to(folder.parent)
    (folder / ".removed-1").mkdir()
    (folder / ".removed-1" / "inner").mkdir()


@pytest.mark.parametrize("fill", [deep, closed, odd])
def test_nothing_in_a_folder_keeps_it_from_going(
    tmp_path: Path, fill: Callable[[Path], None]
) -> None:
    folder, outside = tmp_path / "out", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    fill(folder)
    remove_tree(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]


def test_a_link_goes_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    (target / "inner").mkdir(parents=True)
    link.symlink_to(target)
    remove_tree(link)
    assert link.is_symlink()
    remove_entry(link)
    assert not link.is_symlink()
    assert (target / "inner").is_dir()
    remove_entry(target)
    remove_entry(target)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_given_loses_what_acts_as_its_owner(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.touch()
    outside.chmod(0o4755)
    folder = tmp_path / "out"
    (folder / "inner").mkdir(parents=True)
    odd(folder)
    (folder / "outside").symlink_to(outside)
    for name in ("inner/setuid", "setgid"):
        (folder / name).touch()
        (folder / name).chmod(0o6755)
    give_tree(folder, *HERE)
    modes = [stat.S_IMODE((folder / name).stat().st_mode) for name in ("inner/setuid", "setgid")]
    assert modes == [0o755, 0o755]
    assert stat.S_IMODE(outside.stat().st_mode) == 0o4755
    assert {path.lstat().st_uid for path in folder.rglob("*")} == {HERE[0]}
