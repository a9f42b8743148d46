"""An entry gathers values under the file's names, and everything wrong with them."""

import pytest

from orchestrator.exchange.imports.entry import FileEntry, gather
from runner.contract.errors import DamagedFile, SkipEntry


def entry() -> FileEntry:
    entry = FileEntry("line 2")
    entry.set(status="ok", model="resnet50")
    return entry


def test_columns_take_their_values_and_details_keep_the_rest() -> None:
    made = entry()
    made.number("latency_mean_s", "row.ms", "12.5", "ms")
    made.number("batch_size", "row.bs", None)
    made.text("precision", "row.dtype", " fp16 ")
    made.durations("row.times", [1, "2.5"], "ms")
    made.detail("row", {"ms": "12.5", "bs": None, "dtype": "fp16", "times": [1], "note": "warm"})
    found = made.measurement()
    assert (found.latency_mean_s, found.batch_size, found.precision) == (0.0125, None, "fp16")
    assert found.durations_ns == (1_000_000, 2_500_000)
    assert found.details == {"row.note": "warm"}
    assert (found.simulated, found.marks) == (False, ())


def test_marks_make_it_simulated() -> None:
    made = entry()
    made.number("throughput", "fps", 5)
    made.mark("/a: true")
    made.mark("/a: true", "/b: MOCK")
    found = made.measurement()
    assert (found.simulated, found.marks) == (True, ("/a: true", "/b: MOCK"))


def test_an_entry_that_measured_nothing_is_empty_unless_it_failed() -> None:
    made = entry()
    made.number("parameters", "params", 25, "million")
    with pytest.raises(SkipEntry) as skipped:
        made.measurement()
    assert skipped.value.reasons == ()
    made.set(status="failed", reason="it crashed")
    assert made.measurement().reason == "it crashed"


def test_a_measurement_may_stand_in_the_details_alone() -> None:
    made = entry()
    made.detail("watts", 5)
    made.measures = True
    assert made.measurement().details == {"watts": "5"}


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("latency_mean_s", "fast", "line 2: it: 'fast' is not a number"),
        ("latency_mean_s", -3, "line 2: it: -3 is negative"),
        ("batch_size", 0, "line 2: it: 0 is not above 0"),
        ("batch_size", 1.5, "line 2: it: 1.5 is not a whole number"),
    ],
)
def test_wrong_values_are_told_by_the_file_s_names(column: str, value: object, told: str) -> None:
    made = entry()
    made.number("throughput", "fps", 5)
    made.number(column, "it", value)
    with pytest.raises(SkipEntry) as broken:
        made.measurement()
    assert broken.value.reasons == (told,)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (5, "5 is not a list of durations"),
        ([1, "x"], "'x' is not a number"),
        ([1, None], "one of the durations is missing"),
    ],
)
def test_durations_are_whole_or_refused(values: object, told: str) -> None:
    made = entry()
    made.durations("times", values, "ms")
    with pytest.raises(SkipEntry, match=told):
        made.measurement()


def test_an_entry_without_a_model_is_refused() -> None:
    made = FileEntry("line 2")
    made.set(status="ok")
    made.text("model", "net", "")
    made.number("throughput", "fps", 5)
    with pytest.raises(SkipEntry, match="line 2: net: is required"):
        made.measurement()


def test_a_table_is_not_text() -> None:
    made = entry()
    made.text("task", "job", {"a": 1})
    with pytest.raises(SkipEntry, match=r"line 2: job: \{'a': 1\} is not text"):
        made.measurement()


TRACEBACK = """Traceback (most recent call last):
  File "benchmark.py", line 3, in <module>
    raise RuntimeError("no module named x timed out")
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
"""


def failed(error: str) -> tuple[str, str | None]:
    made = entry()
    made.fail(error)
    found = made.measurement()
    return found.status, found.reason


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("CUDA out of memory", "out_of_memory"),
        (TRACEBACK, "out_of_memory"),
        ("std::bad_alloc", "out_of_memory"),
        ("Process timed out after 600 s", "timeout"),
        ("NotImplementedError: operator is not supported on MPS", "unsupported"),
        ("ModuleNotFoundError: No module named 'openvino'", "unavailable"),
        ("ValueError: shapes do not match", "failed"),
    ],
)
def test_says_what_kind_of_failure_it_was(error: str, status: str) -> None:
    assert failed(error)[0] == status


def test_the_last_line_of_a_traceback_tells() -> None:
    told = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    assert failed(TRACEBACK)[1] == told


def test_other_errors_tell_in_their_first_lines() -> None:
    assert failed("one\n\n two\nthree\nfour\n")[1] == "one\ntwo\nthree"
    assert len(failed("x" * 1000)[1] or "") == 500


def an_entry(location: str, latency: object) -> FileEntry:
    entry = FileEntry(location)
    entry.set(status="ok")
    entry.text("model", "net", "resnet50")
    entry.number("latency_mean_s", "ms", latency, "ms")
    return entry


def test_broken_and_empty_entries_let_the_others_through() -> None:
    broken = FileEntry("line 5", "line 5: cut off")
    entries = [an_entry(f"line {n}", value) for n, value in ((2, 5), (3, "fast"), (4, None))]
    reading = gather([*entries, broken], "a table")
    assert [measurement.location for measurement in reading.measurements] == ["line 2"]
    assert reading.faults == ("line 3: ms: 'fast' is not a number", "line 5: cut off")
    assert reading.empty == ("line 4",)
    assert reading.nothing is None


def test_empty_entries_alone_are_no_measurement() -> None:
    reading = gather([an_entry("line 2", None)], "a table of models")
    assert (reading.measurements, reading.nothing) == ((), "a table of models")


def test_broken_entries_alone_make_a_damaged_file() -> None:
    entries = [an_entry(f"line {line}", -1) for line in range(2, 9)]
    with pytest.raises(DamagedFile, match=r"^line 2: ms: -1 is negative; .*; and 2 more$"):
        gather(entries, "a table")
