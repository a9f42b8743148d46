"""What a machine may lack, but none that is the judge of a change."""

import os
from typing import NoReturn

import pytest


def lacking(what: str) -> NoReturn:
    """A failure in CI, a skip elsewhere."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI needs it: {what}")
    pytest.skip(what)
