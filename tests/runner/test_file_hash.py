"""A hash over files tells any change of them apart."""

from pathlib import Path

import pytest

from runner.file_hash import hash_of

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
