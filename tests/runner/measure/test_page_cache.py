"""The page cache of this system, where it lets go of files."""

import os
from pathlib import Path

from runner.measure.page_cache import PageCache
from tests.support.needs import lacking

BYTES = 1 << 22


def test_a_file_is_dropped_without_rights_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(os.urandom(BYTES))
    files, cache = [str(path), str(tmp_path / "gone")], PageCache()
    before = cache.resident_share(files)
    cache.drop(files)
    after = cache.resident_share(files)
    if before is None or after == before:
        lacking("a file system on a disk, and a kernel that tells what it keeps of a file")
    assert after is not None
    assert (before, after < 0.1) == (1, True)
    assert len(path.read_bytes()) == BYTES
    assert cache.resident_share(files) == 1
