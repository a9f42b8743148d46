"""Tables of moments: a few of them in the slow suite, all in `python -m performance faults`."""

from collections.abc import Mapping

import pytest

from tests.support.failpoints import Failpoint


def table(moments: Mapping[str, Failpoint], *kept: str) -> pytest.MarkDecorator:
    """The moments as cases of a test: those that are kept are slow, the others nightly."""
    marks = {name: pytest.mark.slow if name in kept else pytest.mark.nightly for name in moments}
    cases = [pytest.param(moments[name], id=name, marks=marks[name]) for name in moments]
    return pytest.mark.parametrize("moment", cases)
