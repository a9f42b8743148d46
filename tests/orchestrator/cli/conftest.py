"""The command line as a user meets it: a process of its own in a folder of its own."""

from pathlib import Path

import pytest

from tests.support.workplace import Workplace


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """A user's folder with a matrix."""
    place = Workplace(tmp_path, "process")
    place.write_matrix()
    return place


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """A folder with one finished run, in which one of three cells failed. Nobody changes it."""
    place = Workplace(tmp_path_factory.mktemp("measured"), "process")
    place.write_matrix({"*-b2-*": "raise"})
    assert place.run().returncode == 1
    return place
