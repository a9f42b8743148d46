"""The order in which workers of pytest-xdist take the suite: by files, serial ones one by one.

Serial are the tests of containers and of processes that are killed: the kernel counts what it kills
for want of memory for the whole host, and a run removes the containers that an earlier one left.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MARKERS = re.compile(r"pytest\.mark\.(engine|serial)\b")
"""Markers of tests that one worker executes, one after the other, with all of their file."""


@cache
def is_serial_file(path: str) -> bool:
    """True if a test of the file, named from the repository's root, carries such a marker.

    The source is read since xdist's controller knows the tests' ids alone.
    """
    return bool(MARKERS.search((ROOT / path).read_text("utf-8")))


def is_serial(nodeid: str) -> bool:
    """True if one worker executes the test's file together with all other serial ones."""
    return is_serial_file(nodeid.partition("::")[0])


def scheduler(config: pytest.Config, log: Any) -> Any:
    """A scheduler of whole files for which all serial files are one.

    xdist's own groups would do, but `--dist loadgroup` of 3.8 groups nothing under pytest 9.2: it
    puts the group into a test's id by an attribute that pytest no longer reads.
    """
    from xdist.scheduler import LoadFileScheduling

    class SerialFilesTogether(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "serial" if is_serial(nodeid) else super()._split_scope(nodeid)

    return SerialFilesTogether(config, log)
