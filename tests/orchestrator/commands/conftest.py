"""The command line as a user meets it, in a folder of its own."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.workplace import Workplace


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """A user's folder with a matrix."""
    place = Workplace(tmp_path, "process")
    place.write_matrix()
    return place


@dataclass(frozen=True)
class FinishedRun:
    """A command that measured, and the folder in which it did."""

    place: Workplace
    done: "subprocess.CompletedProcess[str]"


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """One finished run, in which one of three cells failed, which goes before the grades of others.

    Nobody changes its folder.
    """
    place = Workplace(tmp_path_factory.mktemp("measured"), "process")
    place.write_matrix({"*-b2-*": "raise"})
    return FinishedRun(place, place.run("--require-grade", "A"))


@pytest.fixture(scope="session")
def measured(finished: FinishedRun) -> Workplace:
    """The folder with one finished run."""
    assert finished.done.returncode == 1
    return finished.place
