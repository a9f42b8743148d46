"""An entry gives each value away once, and becomes a measurement for itself."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from orchestrator.exchange.imports.entry import Reading, gather
from orchestrator.exchange.imports.formats.legacy.columns import (
    cuda_device_name,
    libraries_of,
    machine_of,
    metric_columns,
    python_of,
)
from orchestrator.exchange.imports.formats.legacy.json_object import (
    Context,
    JsonObject,
    Node,
    build_measurement,
    error_line,
    read_time,
    status_fields,
)
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from runner.contract.errors import SkipEntry


def an_entry(**values: Any) -> JsonObject:
    return JsonObject(values, "/x")


def test_what_is_taken_is_not_in_the_details() -> None:
    entry = an_entry(latency_ms="12.5", name="bert", rest={"a": [1, 2], "b": None})
    assert entry.number("latency_ms", "latency_mean_s", "ms") == 0.0125
    assert entry.text("title", "name") == "bert"
    assert entry.details() == {"rest.a": "[1, 2]"}


@pytest.mark.parametrize("value", [-1, "slow", True, [], float("inf")])
def test_what_is_no_measured_number_is_told_with_its_place(value: object) -> None:
    with pytest.raises(SkipEntry, match=r"^/x/latency_ms: "):
        an_entry(latency_ms=value).number("latency_ms", "latency_mean_s", "ms")


@pytest.mark.parametrize("value", [None, float("nan"), "N/A"])
def test_what_says_nothing_is_no_number(value: object) -> None:
    assert an_entry(latency_ms=value).number("latency_ms", "latency_mean_s", "ms") is None


def test_counts_are_whole() -> None:
    assert an_entry(iterations=20.0).count("iterations") == 20
    with pytest.raises(SkipEntry, match="not a whole number"):
        an_entry(iterations=2.5).count("iterations")


def test_durations_are_kept_in_order() -> None:
    assert an_entry(ms=[2.5, "1"]).durations("ms", "ms") == (2500000, 1000000)
    assert an_entry(ms=[]).durations("ms", "ms") is None
    with pytest.raises(SkipEntry, match="/x/ms: one of the durations is missing"):
        an_entry(ms=[2.5, None]).durations("ms", "ms")


def test_a_time_without_a_zone_says_so() -> None:
    entry = an_entry(timestamp="20250302_221825")
    assert entry.moment("created", "timestamp") is not None
    assert entry.details() == {"timestamp": "20250302_221825 (no zone is given, taken as UTC)"}


def test_entries_below_it_know_their_place() -> None:
    entry = an_entry(a=[{}, {}], b={"c/d": {}}, e=5)
    nodes = [node for key in "abef" for node in entry.nodes(key, NotImplemented, Context())]
    assert [node.location for node in nodes] == ["/x/a/0", "/x/a/1", "/x/b/c~1d"]


def test_an_entry_is_an_object() -> None:
    with pytest.raises(SkipEntry, match="/x: 5 is no object"):
        JsonObject(5, "/x")


EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("value", "moment", "has_zone"),
    [
        ("2025-03-06T17:45:26.506441", datetime(2025, 3, 6, 17, 45, 26, 506441, UTC), False),
        ("20250302_221825", datetime(2025, 3, 2, 22, 18, 25, tzinfo=UTC), False),
        (1740730873.5, datetime(2025, 2, 28, 8, 21, 13, 500000, UTC), True),
        ("2025-03-06T17:45:26+02:00", datetime(2025, 3, 6, 17, 45, 26, tzinfo=EAST), True),
    ],
)
def test_points_in_time(value: object, moment: datetime, has_zone: bool) -> None:
    assert read_time(value) == (moment, has_zone)


@pytest.mark.parametrize("value", ["yesterday", "", 12, 1e300, float("nan"), True, None, []])
def test_what_is_no_point_in_time(value: object) -> None:
    assert read_time(value) is None


def test_long_text_is_shortened_and_says_so() -> None:
    details = an_entry(stdout="x" * 1500, code=0).details()
    assert details == {"stdout": "x" * 1000 + " … (1500 characters)", "code": "0"}


def latency(entry: JsonObject, context: Context) -> ImportedMeasurement:
    fields = {"model": entry.text("model"), "latency_mean_s": entry.number("s", "latency_mean_s")}
    return build_measurement(entry, context, fields)


def reading_of(*values: Any) -> Reading:
    context = Context({"backend": "cpu", "model": "outer"}, {"machine": "x"}, ("/mock: true",))
    nodes = [Node(value, f"/{index}", latency, context) for index, value in enumerate(values)]
    return gather(nodes, "nothing")


def test_an_entrys_own_words_come_before_those_around_it() -> None:
    first, second = reading_of({"s": 1}, {"s": 2, "model": "inner", "z": 3}).measurements
    assert (first.model, second.model) == ("outer", "inner")
    assert (first.backend, second.latency_mean_s) == ("cpu", 2)
    assert second.details == {"machine": "x", "z": "3"}
    assert (second.simulated, second.marks) == (True, ("/mock: true",))


def test_a_broken_entry_leaves_the_others() -> None:
    reading = reading_of({"s": 1}, {"s": "slow"}, 5, {"s": None})
    assert [measurement.location for measurement in reading.measurements] == ["/0"]
    assert reading.faults == ("/1/s: 'slow' is not a number", "/2: 5 is no object")
    assert reading.empty == ("/3",)


@pytest.mark.parametrize(
    ("around", "fields", "message"),
    [
        ({"model": "m"}, {"iterations": 2**63}, f"iterations: {2**63} is more than {2**63 - 1}"),
        ({"model": "m"}, {"batch_size": 0}, "batch_size: 0 is not above 0"),
        ({}, {}, "it names no model"),
    ],
)
def test_columns_hold_what_the_database_can_store(
    around: dict[str, Any], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(SkipEntry, match=f"/x: {message}"):
        build_measurement(an_entry(), Context({**around, "latency_mean_s": 1}), fields)


TRACEBACK = """\
INFO - Testing model: bert
Traceback (most recent call last):
  File "test.py", line 801, in main
    results = tester.run()
              ^^^^^^^^^^
AttributeError: 'Tests' object has no attribute 'run'
"""
RAISED = "AttributeError: 'Tests' object has no attribute 'run'"
ABSENT, NO_MEMORY = "No module named 'openvino'", "CUDA out of memory"
USAGE = {"error": "exit code 2", "stderr": "a warning: not available\nb\nc\nusage: no --model"}


@pytest.mark.parametrize(
    ("value", "status", "reason"),
    [
        ({"success": False, "error": "it broke"}, "failed", "it broke"),
        ({"success": "false"}, "failed", "no reason is given"),
        ({"status": "failed", "error": NO_MEMORY}, "out_of_memory", NO_MEMORY),
        ({"success": False, "error_type": "timeout"}, "timeout", "no reason is given"),
        ({"error": "Timeout after 600 s"}, "timeout", "Timeout after 600 s"),
        ({"status": "skipped", "reason": "not supported"}, "unsupported", "not supported"),
        ({"status": "error", "error": ABSENT}, "unavailable", ABSENT),
        ({"compatible": False}, "unsupported", "it is not compatible"),
        ({"return_code": 1, "stderr": ""}, "failed", "exit code 1"),
        ({"return_code": 1, "stderr": TRACEBACK}, "failed", RAISED),
        ({"status": "load_failed"}, "failed", "load_failed"),
        ({"status": "pending"}, "lost", "status is pending: no result was recorded"),
        (USAGE, "failed", "exit code 2: usage: no --model"),
    ],
)
def test_bad_ends(value: dict[str, Any], status: str, reason: str) -> None:
    assert status_fields(an_entry(**value)) == {"status": status, "reason": reason}


@pytest.mark.parametrize(
    "value",
    [{"success": True}, {"status": "Success"}, {"return_code": 0}, {"success": True, "error": ""}],
)
def test_good_ends(value: dict[str, Any]) -> None:
    assert status_fields(an_entry(**value)) == {"status": "ok"}


def test_an_entry_may_say_nothing_of_its_end_but_a_word_that_nobody_knows_is_not_guessed() -> None:
    assert status_fields(an_entry(latency_ms=3)) == {}
    with pytest.raises(SkipEntry, match="/x/status: 'glorious' is no status that is known"):
        status_fields(an_entry(status="glorious"))


def test_the_telling_lines_are_few() -> None:
    assert error_line(TRACEBACK) == RAISED
    assert error_line("one\n\ntwo\n") == "one\ntwo"
    assert error_line("1\n2\n3\n4") == "4"
    assert error_line(" \n") == ""
    assert len(error_line("x" * 5000)) == 500


@pytest.mark.parametrize(
    ("devices", "name"),
    [
        ([{"name": "Quadro P4000"}], "Quadro P4000"),
        ([{"name": "A100"}, {"name": "T4"}], None),
        ([{"name": 5}], None),
        ("one", None),
        ([], None),
    ],
)
def test_one_cuda_device_is_the_one_that_ran(devices: Any, name: str | None) -> None:
    assert cuda_device_name(an_entry(system_info={"cuda_devices": devices})) == name


def test_a_machine_is_told_in_gibibytes_or_not_at_all() -> None:
    silent = machine_of(an_entry(system_info=None))
    assert (silent.fields, silent.details) == ({}, {})
    machine = machine_of(an_entry(system_info={"total_memory_gb": 0.5, "os": "Linux"}))
    assert machine.fields["memory_total_bytes"] == 2**29
    assert machine.fields["operating_system"] == "Linux"


def test_versions_are_those_of_libraries() -> None:
    entry = an_entry(torch_version="2.4.0", os_version="11", numpy_version=None)
    assert libraries_of(entry) == {"torch": "2.4.0"}
    assert entry.details() == {"os_version": "11"}


def test_pythons_version_is_its_first_word() -> None:
    assert python_of(an_entry(python_version="3.12.3 (main) [GCC]")) == "3.12.3"
    assert python_of(an_entry(python_version=" ")) is None
    assert python_of(an_entry()) is None


def test_milliseconds_and_mebibytes_are_converted_exactly_to_columns_of_ours() -> None:
    entry = an_entry(p95_latency_ms=19.1, max_memory_allocated=1.5, load_time_ms="7")
    columns = metric_columns(entry)
    assert columns == {
        "latency_p95_s": 0.0191,
        "memory_allocator_peak_bytes": 1572864,
        "load_time_s": 0.007,
    }


def test_a_quantity_that_is_told_twice_is_taken_once() -> None:
    entry = an_entry(latency_ms=3, avg_latency_ms=2)
    assert metric_columns(entry)["latency_mean_s"] == 0.002
    assert entry.details() == {"latency_ms": "3"}


def test_text_where_a_number_belongs_is_told() -> None:
    with pytest.raises(SkipEntry, match="/x/throughput: 'high' is not a number"):
        metric_columns(an_entry(throughput="high"))
