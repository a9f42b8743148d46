"""Processes that merge into one database and ask it at the same time lose nothing."""

from pathlib import Path

import pytest

from performance.store_load import loaded


@pytest.mark.slow
def test_two_processes_merge_and_ask_at_once(tmp_path: Path) -> None:
    total = loaded(tmp_path / "scratch.duckdb", processes=2, seconds=2)
    assert total.failures == []
    assert total.merges >= 2
