"""Which files an import looks at."""

import os
from pathlib import Path

import pytest

from orchestrator.errors import MatrixError
from orchestrator.imports.sources import files_in, link_to
from tests.orchestrator.imports.files import write


def test_folders_are_searched_in_order_and_hidden_files_left_out(tmp_path: Path) -> None:
    for name in ("b.json", "a/2.csv", "a/1.csv", ".git/config.json", "a/.1.csv.tmp"):
        write(tmp_path / name, "")
    found = [str(file.relative_to(tmp_path)) for file in files_in([tmp_path])]
    assert found == ["b.json", "a/1.csv", "a/2.csv"]


def test_a_file_named_twice_is_looked_at_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", "{}")
    assert files_in([file, tmp_path, file]) == [file]


def test_a_named_file_may_be_hidden(tmp_path: Path) -> None:
    file = write(tmp_path / ".a.json", "{}")
    assert files_in([file]) == [file]


def test_what_is_left_out_is_so_by_any_name(tmp_path: Path) -> None:
    mapping = write(tmp_path / "lab.yaml", "")
    write(tmp_path / "lab.csv", "")
    left = files_in([tmp_path], without=[tmp_path / "x" / ".." / mapping.name])
    assert [file.name for file in left] == ["lab.csv"]


def test_links_that_lead_in_circles_are_looked_at(tmp_path: Path) -> None:
    mapping = write(tmp_path / "lab.yaml", "")
    (tmp_path / "one.csv").symlink_to(tmp_path / "two.csv")
    (tmp_path / "two.csv").symlink_to(tmp_path / "one.csv")
    left = files_in([tmp_path], without=[mapping])
    assert [file.name for file in left] == ["one.csv", "two.csv"]


def test_a_folder_that_cannot_be_listed_is_told(tmp_path: Path) -> None:
    write(tmp_path / "a.json", "{}")
    made = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("x" * 250, dir_fd=made)
        above, made = made, os.open("x" * 250, os.O_RDONLY, dir_fd=made)
        os.close(above)
    os.close(made)
    first, unlisted = files_in([tmp_path])
    assert first.name == "a.json"
    assert unlisted.name == "x" * 250


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match="nowhere: no such file or folder"):
        files_in([tmp_path / "nowhere"])


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "outside/a.json", "{}")
    inside = write(tmp_path / "inside/b.json", "{}").parent
    (inside / "way-out").symlink_to(tmp_path / "outside")
    (inside / "circle").symlink_to(inside)
    assert [file.name for file in files_in([inside])] == ["b.json"]


def test_a_link_on_the_way_to_a_file_is_known(tmp_path: Path) -> None:
    file = write(tmp_path / "real/a.json", "{}")
    named = tmp_path / "named"
    named.symlink_to(file.parent)
    link = file.parent / "link.json"
    link.symlink_to(file)
    assert link_to(file, [file.parent]) is None
    assert link_to(file, [named]) is None
    assert link_to(link, [file.parent]) == link
    assert link_to(named / "a.json", [named]) == named
    (found,) = files_in([named / "a.json"])
    assert found == named / "a.json"
