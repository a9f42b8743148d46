"""A hash over files tells any change of them apart."""

from pathlib import Path
from typing import IO

import pytest

from runner.contract.files import drop_unfinished, hash_of, sha256_of, write_whole

FILES = (Path("a/b.py"), Path("c.py"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.py").write_text("one")
    (tmp_path / "c.py").write_text("two")
    return tmp_path


def test_the_same_files_elsewhere_have_the_same_hash(root: Path) -> None:
    other = root / "elsewhere"
    (other / "a").mkdir(parents=True)
    for file in FILES:
        (other / file).write_text((root / file).read_text())
    assert hash_of(other, FILES) == hash_of(root, FILES)


def test_names_contents_and_the_border_between_them_count(root: Path) -> None:
    known = {hash_of(root, FILES), hash_of(root, FILES[:1]), hash_of(root, FILES[::-1])}
    (root / "a/b.py").write_text("onet")
    (root / "c.py").write_text("wo")
    known.add(hash_of(root, FILES))
    (root / "d.py").write_text("wo")
    known.add(hash_of(root, (FILES[0], Path("d.py"))))
    assert len(known) == 5


def test_the_hash_of_one_file_is_what_sha256sum_prints(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    assert sha256_of(tmp_path / "file").startswith("ba7816bf8f01cfea414140de5dae2223")


def interrupted(file: IO[bytes]) -> None:
    file.write(b"half of")
    raise KeyboardInterrupt


def test_an_interrupted_writer_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "record.parquet"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, interrupted)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_writer_left_is_dropped_and_nothing_else(tmp_path: Path) -> None:
    kept = [tmp_path / name for name in ("record.parquet", "user.tmp", ".hidden")]
    for path in [*kept, tmp_path / ".record.parquet.tmp"]:
        path.write_text("content")
    drop_unfinished(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def test_nothing_is_dropped_where_there_is_nothing(tmp_path: Path) -> None:
    drop_unfinished(tmp_path / "absent")
