"""How workers of pytest-xdist share the suite: by files, but what launches runners takes turns."""

from typing import Any

import pytest

LAUNCHES = (
    "tests/contracts/test_launchers.py",
    "tests/e2e/test_engine.py",
    "tests/e2e/test_failures.py",
    "tests/e2e/test_pretrained.py",
    "tests/e2e/test_replay.py",
    "tests/e2e/test_rounds.py",
    "tests/images/test_cpu_image.py",
    "tests/images/test_graph_images.py",
    "tests/orchestrator/cli/test_machine.py",
    "tests/orchestrator/images/",
    "tests/orchestrator/launchers/",
    "tests/orchestrator/backends/test_catalogue.py",
    "tests/orchestrator/backends/test_catalogue.py",
    "tests/orchestrator/system/test_engine.py",
    "tests/runner/measure/memory/test_cgroup.py",
    "tests/runner/modes/startup/test_mode.py",
)
"""Tests of containers, and of processes that are killed. The kernel counts what it kills for want
of memory for the whole host, and a run removes the containers that an earlier one left."""


def is_launch(nodeid: str) -> bool:
    """Whether the test is one of those that one worker executes, one after the other."""
    return nodeid.startswith(LAUNCHES)


def require_turns(items: list[pytest.Item]) -> None:
    """Every test that needs a container engine must be one of them.

    Raises:
        UsageError: one is not.
    """
    for item in items:
        if item.get_closest_marker("engine") and not is_launch(item.nodeid):
            raise pytest.UsageError(f"{item.nodeid} needs an engine: name its file in {__file__}")


def scheduler(config: pytest.Config, log: Any) -> Any:
    """A scheduler of whole files for which all launches are one file.

    xdist's own groups would do, but `--dist loadgroup` of 3.8 groups nothing under pytest 9.2: it
    puts the group into a test's id by an attribute that pytest no longer reads.
    """
    from xdist.scheduler import LoadFileScheduling

    class Turns(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "launches" if is_launch(nodeid) else super()._split_scope(nodeid)

    return Turns(config, log)
