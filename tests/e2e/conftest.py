"""Folders of a user: one for each launcher, one for processes alone."""

from pathlib import Path

import pytest

from tests.support.workplace import Workplace


@pytest.fixture(params=["process", pytest.param("docker", marks=pytest.mark.engine)])
def workplace(request: pytest.FixtureRequest, tmp_path: Path) -> Workplace:
    """A user's folder, once for each launcher."""
    if request.param == "docker":
        request.getfixturevalue("cpu_image")
    return Workplace(tmp_path, request.param)


@pytest.fixture
def user(tmp_path: Path) -> Workplace:
    """A user's folder whose runs are launched as processes."""
    return Workplace(tmp_path, "process")
