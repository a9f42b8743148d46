"""Skips of tests on machines that lack something, which CI must not."""

import os
from typing import NoReturn

import pytest


def lacking(requirement: str) -> NoReturn:
    """Fail in CI, skip elsewhere."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI needs it: {requirement}")
    pytest.skip(requirement)
