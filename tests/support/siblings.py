"""Cases of a test that are alike: the gate runs a few of them, `make test-nightly` the others."""

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
