"""A results folder with three finished runs: made once, copied for each test that changes it."""

import shutil
from pathlib import Path

import pytest

from tests.support.runs import three_runs


@pytest.fixture(scope="session")
def finished_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nobody changes it."""
    return three_runs(tmp_path_factory.mktemp("finished") / "results")


@pytest.fixture
def results(finished_results: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(finished_results, tmp_path / "results", symlinks=True))
