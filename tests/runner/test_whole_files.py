"""Files that appear whole or not at all, and what is left of those that a kill stopped."""

from pathlib import Path
from typing import IO

import pytest

from runner.whole_files import drop_unfinished, write_whole


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
