"""What lies where a record file should is named, and costs no other file."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.store.merge.report import MergeReport
from orchestrator.store.records.validate import Damaged
from orchestrator.store.store import Store
from runner.contract.record.files import save_record, to_table
from tests.support.hostile_parquet import HOSTILE_FILES
from tests.support.records import a_record


def _link(path: Path) -> None:
    (elsewhere := path.parent / "elsewhere").mkdir()
    record = save_record(a_record(batch_size=2), elsewhere)
    path.symlink_to(record.rename(elsewhere / "target"))


def _hard_link(path: Path) -> None:
    _link(path)
    target = path.readlink()
    path.unlink()
    path.hardlink_to(target)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _hostile(name: str) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(HOSTILE_FILES[name](to_table([a_record()])))


KINDS: list[tuple[Callable[[Path], object], str]] = [
    (_link, "is a symbolic link, not a plain file"),
    (lambda path: path.symlink_to("/dev/zero"), "is a symbolic link, not a plain file"),
    (lambda path: path.symlink_to(path.parent), "is a symbolic link, not a plain file"),
    (_hard_link, "has 2 names (hard links); one is allowed"),
    (os.mkfifo, "is a FIFO, not a plain file"),
    (_socket, "is a socket, not a plain file"),
    (_hostile("values that the footer denies"), "takes more memory to be read"),
    (_hostile("a long text, repeated"), "status: 'xxx"),
    (_hostile("rows that no page holds"), "takes more memory to be read"),
]


@pytest.mark.timeout(60)
def test_in_a_folder_each_is_named_and_the_rest_is_merged(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    save_record(a_record(), folder)
    expected = {}
    for number, (make, reason) in enumerate(KINDS):
        path = folder / str(number) / "hostile.parquet"
        path.parent.mkdir()
        make(path)
        expected[path] = reason
    report = store.merge([folder])
    reasons = {file.path: file.reason for file in report.damaged}
    assert (report.inserted, reasons.keys()) == (1, expected.keys())
    assert [path for path in expected if expected[path] not in reasons[path]] == []


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("make", "reason"), KINDS[3:])
def test_named_by_itself_it_is_refused_likewise(
    make: Callable[[Path], object], reason: str, store: Store, tmp_path: Path
) -> None:
    make(path := tmp_path / "hostile.parquet")
    report = store.merge([path])
    assert [damaged.path for damaged in report.damaged] == [path]
    assert reason in report.damaged[0].reason


def test_a_link_that_the_user_names_is_followed(store: Store, tmp_path: Path) -> None:
    _link(link := tmp_path / "link.parquet")
    (tmp_path / "folder").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir()
    save_record(a_record(), tmp_path / "real")
    assert store.merge([link, tmp_path / "folder"]) == MergeReport(inserted=2)


def test_a_large_file_is_looked_at_like_a_small_one(store: Store, tmp_path: Path) -> None:
    content = HOSTILE_FILES["values that the footer denies"](to_table([a_record()]))
    (path := tmp_path / "large.parquet").write_bytes(content[:4] + b"\0" * 2_000_000 + content[4:])
    (damaged,) = store.merge([path]).damaged
    assert damaged.path == path


def test_folders_below_the_deepest_are_named(store: Store, tmp_path: Path) -> None:
    deep = tmp_path / "results" / Path(*["d"] * 40)
    deep.mkdir(parents=True)
    save_record(a_record(), deep)
    (damaged,) = store.merge([tmp_path / "results"]).damaged
    assert damaged == Damaged(
        tmp_path / "results" / Path(*["d"] * 33), "is a folder, not a plain file"
    )
