"""What questions of every kind are put to."""

from pathlib import Path

import pytest

from orchestrator.store import Store


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without a row, for questions that need none. Nobody changes it."""
    path = tmp_path_factory.mktemp("empty") / "benchmarks.duckdb"
    Store.open(path).close()
    return path
