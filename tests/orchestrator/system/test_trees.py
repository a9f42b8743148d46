"""Folders that jobs wrote are given, taken back and removed, whatever lies in them."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.system.trees import give_tree, remove_entry, remove_tree

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
    owners = {path.lstat().st_uid for path in folder.rglob("*")}
    assert owners == {HERE[0]}
