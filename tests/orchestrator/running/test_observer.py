"""Lines about a run's progress."""

import pytest

from orchestrator.running.observer import describe_interruption


@pytest.mark.parametrize(("count", "cells"), [(0, "0 cells"), (1, "1 cell"), (2, "2 cells")])
def test_an_interruption_counts_what_is_left(count: int, cells: str) -> None:
    assert describe_interruption("run 1", count) == f"run 1 was interrupted with {cells} left"
