"""JSON objects become measurements, each for itself."""

from typing import Any

import pytest

from orchestrator.imports.formats.legacy.json_object import Context, JsonObject, Node
from orchestrator.imports.formats.legacy.measurement import (
    build_measurement,
    error_line,
    status_fields,
)
from orchestrator.imports.measurement import ImportedMeasurement
from orchestrator.imports.reading import gather
from runner.contract.errors import SkipEntry


def latency(entry: JsonObject, context: Context) -> ImportedMeasurement:
    fields = {"model": entry.text("model"), "latency_mean_s": entry.number("s", "latency_mean_s")}
    return build_measurement(entry, context, fields)


def nodes(*values: Any) -> list[Node]:
    context = Context({"backend": "cpu", "model": "outer"}, {"machine": "x"}, ("/mock: true",))
    return [Node(value, f"/{index}", latency, context) for index, value in enumerate(values)]


def test_an_entrys_own_words_come_before_those_around_it() -> None:
    reading = gather(nodes({"s": 1}, {"s": 2, "model": "inner", "z": 3}), "nothing")
    first, second = reading.measurements
    assert (first.model, second.model) == ("outer", "inner")
    assert (first.backend, second.latency_mean_s) == ("cpu", 2)
    assert second.details == {"machine": "x", "z": "3"}
    assert (second.simulated, second.marks) == (True, ("/mock: true",))


def test_a_broken_entry_leaves_the_others() -> None:
    reading = gather(nodes({"s": 1}, {"s": "slow"}, 5, {"s": None}), "nothing")
    assert [measurement.location for measurement in reading.measurements] == ["/0"]
    assert reading.faults == ("/1/s: 'slow' is not a number", "/2: 5 is no object")
    assert reading.empty == ("/3",)


def test_columns_hold_what_the_database_can_store() -> None:
    context = Context({"model": "m", "latency_mean_s": 1})
    with pytest.raises(SkipEntry, match=f"/x: iterations: {2**63} is more than {2**63 - 1}"):
        build_measurement(JsonObject({}, "/x"), context, {"iterations": 2**63})
    with pytest.raises(SkipEntry, match="/x: batch_size: 0 is not above 0"):
        build_measurement(JsonObject({}, "/x"), context, {"batch_size": 0})
    with pytest.raises(SkipEntry, match="/x: it names no model"):
        build_measurement(JsonObject({}, "/x"), Context(), {})


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
    assert status_fields(JsonObject(value, "/x")) == {"status": status, "reason": reason}


@pytest.mark.parametrize(
    "value",
    [{"success": True}, {"status": "Success"}, {"return_code": 0}, {"success": True, "error": ""}],
)
def test_good_ends(value: dict[str, Any]) -> None:
    assert status_fields(JsonObject(value, "/x")) == {"status": "ok"}


def test_an_entry_may_say_nothing_of_its_end() -> None:
    assert status_fields(JsonObject({"latency_ms": 3}, "/x")) == {}


def test_a_word_that_nobody_knows_is_not_guessed() -> None:
    with pytest.raises(SkipEntry, match="/x/status: 'glorious' is no status that is known"):
        status_fields(JsonObject({"status": "glorious"}, "/x"))


def test_the_telling_lines_are_few() -> None:
    assert error_line(TRACEBACK) == "AttributeError: 'Tests' object has no attribute 'run'"
    assert error_line("one\n\ntwo\n") == "one\ntwo"
    assert error_line("1\n2\n3\n4") == "4"
    assert error_line(" \n") == ""
    assert len(error_line("x" * 5000)) == 500
