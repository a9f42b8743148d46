"""The engine's account of a build or a pull."""

from typing import Any

import pytest

from orchestrator.images.build import follow, ignore
from runner.contract.errors import ImageError


def test_the_account_of_a_build_becomes_lines_without_progress_bars() -> None:
    lines: list[str] = []
    events: list[dict[str, Any]] = [
        {"stream": "Step 1\n"},
        {"stream": "\n"},
        {"status": "Pulling", "id": "abc", "progressDetail": {}},
        {"status": "Downloading", "id": "abc", "progressDetail": {"current": 1}},
        {"aux": {"ID": "sha256:1"}},
    ]
    follow(events, lines.append)
    assert lines == ["Step 1", "abc: Pulling"]


def test_a_failure_inside_the_account_is_raised() -> None:
    with pytest.raises(ImageError, match="no space left"):
        follow([{"stream": "a"}, {"error": "no space left\n"}], ignore)
