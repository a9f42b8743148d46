"""What a launcher takes part in is tried with each of them, the rest with processes."""

from pathlib import Path

import pytest

from tests.support.workplace import Workplace


@pytest.fixture(params=["process", pytest.param("docker", marks=pytest.mark.engine)])
def workplace(request: pytest.FixtureRequest, tmp_path: Path) -> Workplace:
    """A user's folder."""
    if request.param == "docker":
        request.getfixturevalue("cpu_image")
    return Workplace(tmp_path, request.param)


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """A user's folder where it does not matter what launches."""
    return Workplace(tmp_path, "process")
