"""Tables of moments: a few of them in the slow suite, all in `python -m performance faults`."""

from collections.abc import Mapping
from pkgutil import resolve_name

import pytest

from tests.support.failpoints import Failpoint


def table(moments: Mapping[str, Failpoint], *kept: str) -> pytest.MarkDecorator:
    """The moments as cases of a test: those that are kept are slow, the others nightly."""
    for moment in moments.values():
        resolve_name(moment.target)  # else only the nightly tests would tell of one that is gone
    marks = {name: pytest.mark.slow if name in kept else pytest.mark.nightly for name in moments}
    cases = [pytest.param(moments[name], id=name, marks=marks[name]) for name in moments]
    return pytest.mark.parametrize("moment", cases)
