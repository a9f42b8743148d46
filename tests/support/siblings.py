"""Cases of a test that are alike: the gate runs a few of them, `make test-nightly` the others."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest


def siblings(
    cases: Iterable[Any], keep: Collection[Any], name: Callable[[Any], str] | None = None
) -> list[Any]:
    """The cases as parameters, of which those to keep aren't nightly; a tuple is several values."""
    every = list(cases)
    gone = [case for case in keep if case not in every]
    assert not gone, f"no such case: {gone}"  # else the gate would lose it unnoticed
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if case in keep else pytest.mark.nightly,
            id=name(case) if name else None,
        )
        for case in every
    ]


def leave_to_the_night(items: Iterable[pytest.Item]) -> None:
    """Make cases nightly of tests that are marked with a number of `representatives`.

    In each suite the others are the test's first case, and so on at equal distances.
    """
    tests: dict[tuple[str, bool], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("representatives") and not item.get_closest_marker("nightly"):
            is_slow = item.get_closest_marker("slow") is not None
            tests[item.nodeid.partition("[")[0], is_slow].append(item)
    for cases in tests.values():
        (number,) = cases[0].get_closest_marker("representatives").args
        kept = {at * len(cases) // number for at in range(number)}
        for at, case in enumerate(cases):
            if at not in kept:
                case.add_marker(pytest.mark.nightly)
