"""Fixtures of the runner's tests."""

from collections.abc import Iterator

import pytest

from runner.measure import noise
from runner.measure.memory.meter import MemoryMeter


@pytest.fixture(autouse=True, scope="package")
def briefly() -> Iterator[None]:
    """Measure in this process without the rest before a reading and the least time of memory's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "REST_S", 0.0)
        patch.setattr(MemoryMeter.observe, "__defaults__", (0.0,))
        yield
