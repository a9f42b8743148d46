"""A user's folder with locks of its own, and commands that fail at chosen moments."""

from pathlib import Path

import pytest

from tests.faults.place import FailingPlace


@pytest.fixture
def place(tmp_path: Path) -> FailingPlace:
    """A user's folder whose runs are launched as processes."""
    return FailingPlace.in_folder(tmp_path, "process")


@pytest.fixture
def containers(tmp_path: Path, cpu_image: object) -> FailingPlace:
    """A user's folder whose runs are launched in containers."""
    return FailingPlace.in_folder(tmp_path, "docker")
