"""Atomic writes, and hashes of files."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from runner.contract.files import atomic_file, hash_files, remove_unfinished

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
