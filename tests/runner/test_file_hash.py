"""A hash over files tells any change of them apart."""

from pathlib import Path

import pytest

from runner.file_hash import hash_of, sha256_of

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
