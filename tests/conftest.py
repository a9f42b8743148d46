"""Fixtures shared by all tests."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def engine() -> None:
    """A container engine answers. Without one: a failure in CI, a skip elsewhere."""
    answer = subprocess.run(["docker", "info"], capture_output=True, text=True, check=False)
    if answer.returncode == 0:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI needs a container engine: {answer.stderr}")
    pytest.skip("no container engine answers")


@pytest.fixture(autouse=True, scope="session")
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The suite's device locks are apart from those of a run under way on this machine."""
    os.environ["ACCELMATRIX_LOCKS"] = str(tmp_path_factory.mktemp("locks"))
