"""How entries ended, in the many ways in which they say it."""

from typing import Any

import pytest

from orchestrator.imports.formats.legacy.entry import Entry
from orchestrator.imports.formats.legacy.outcome import ended, telling
from orchestrator.imports.reading import NotReadable

TRACEBACK = """\
INFO - Testing model: bert
Traceback (most recent call last):
  File "test.py", line 801, in main
    results = tester.run()
              ^^^^^^^^^^
AttributeError: 'Tests' object has no attribute 'run'
"""


@pytest.mark.parametrize(
    ("value", "status", "reason"),
    [
        ({"success": False, "error": "it broke"}, "failed", "it broke"),
        ({"success": "false"}, "failed", "no reason is given"),
        (
            {"status": "failed", "error": "CUDA out of memory"},
            "out_of_memory",
            "CUDA out of memory",
        ),
        ({"success": False, "error_type": "timeout"}, "timeout", "no reason is given"),
        ({"error": "Timeout after 600 s"}, "timeout", "Timeout after 600 s"),
        (
            {"status": "skipped", "reason": "webnn is not supported"},
            "unsupported",
            "webnn is not supported",
        ),
        (
            {"status": "error", "error": "No module named 'openvino'"},
            "unavailable",
            "No module named 'openvino'",
        ),
        ({"compatible": False}, "unsupported", "it is not compatible"),
        ({"return_code": 1, "stderr": ""}, "failed", "exit code 1"),
        (
            {"return_code": 1, "stderr": TRACEBACK},
            "failed",
            "AttributeError: 'Tests' object has no attribute 'run'",
        ),
        ({"status": "load_failed"}, "failed", "load_failed"),
        ({"status": "pending"}, "lost", "status is pending: no result was recorded"),
        (
            {"error": "exit code 2", "stderr": "a warning: not available\nb\nc\nusage: no --model"},
            "failed",
            "exit code 2: usage: no --model",
        ),
    ],
)
def test_bad_ends(value: dict[str, Any], status: str, reason: str) -> None:
    assert ended(Entry(value, "/x")) == {"status": status, "reason": reason}


@pytest.mark.parametrize(
    "value",
    [{"success": True}, {"status": "Success"}, {"return_code": 0}, {"success": True, "error": ""}],
)
def test_good_ends(value: dict[str, Any]) -> None:
    assert ended(Entry(value, "/x")) == {"status": "ok"}


def test_an_entry_may_say_nothing_of_its_end() -> None:
    assert ended(Entry({"latency_ms": 3}, "/x")) == {}


def test_a_word_that_nobody_knows_is_not_guessed() -> None:
    with pytest.raises(NotReadable, match="/x/status: 'glorious' is no status that is known"):
        ended(Entry({"status": "glorious"}, "/x"))


def test_the_telling_lines_are_few() -> None:
    assert telling(TRACEBACK) == "AttributeError: 'Tests' object has no attribute 'run'"
    assert telling("one\n\ntwo\n") == "one\ntwo"
    assert telling("1\n2\n3\n4") == "4"
    assert telling(" \n") == ""
    assert len(telling("x" * 5000)) == 500
