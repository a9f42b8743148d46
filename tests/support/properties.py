"""Property tests with few examples in the fast suite, and with many by night."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

_FAST = 15


def property_test(
    examples: int, *strategies: SearchStrategy[Any]
) -> Callable[[Callable[..., None]], Callable[[int], None]]:
    """A test of a property with few examples, and a nightly one with this number of them."""
    numbers = [_FAST, pytest.param(examples, marks=pytest.mark.nightly)]

    def decorate(check: Callable[..., None]) -> Callable[[int], None]:
        @pytest.mark.parametrize("examples", numbers)
        def test(examples: int) -> None:
            try_examples(examples, check, *strategies)

        test.__name__, test.__qualname__ = check.__name__, check.__qualname__
        test.__doc__ = check.__doc__
        return test

    return decorate


def try_examples(
    examples: int, check: Callable[..., None], *strategies: SearchStrategy[Any]
) -> None:
    """Check so many examples of a property."""
    healthy = [HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large]
    kept = settings(max_examples=examples, deadline=None, suppress_health_check=healthy)
    kept(given(*strategies)(check))()
