"""Keys that name a quantity and its unit."""

from typing import Any, NoReturn

import pytest

from orchestrator.imports.formats.legacy.json_object import JsonObject
from orchestrator.imports.formats.legacy.rows import (
    ROWS_FORMAT,
    LegacyFormat,
    has_any,
    has_map,
    has_metric,
    is_map_of_maps,
    metric_columns,
)
from orchestrator.imports.measurement import ImportedMeasurement
from orchestrator.imports.reading import Reading
from runner.contract.errors import DamagedFile, SkipEntry
from tests.orchestrator.imports.documents import json_document, only, read
from tests.orchestrator.imports.formats.legacy import samples


def test_every_column_is_one_of_ours() -> None:
    assert metric_columns(JsonObject({}, "/x")).keys() <= ImportedMeasurement.model_fields.keys()


def test_milliseconds_and_mebibytes_are_converted_exactly() -> None:
    entry = JsonObject(
        {"p95_latency_ms": 19.1, "max_memory_allocated": 1.5, "load_time_ms": "7"}, "/x"
    )
    columns = {name: value for name, value in metric_columns(entry).items() if value is not None}
    assert columns == {
        "latency_p95_s": 0.0191,
        "memory_allocator_peak_bytes": 1572864,
        "load_time_s": 0.007,
    }


def test_a_quantity_that_is_told_twice_is_taken_once() -> None:
    entry = JsonObject({"latency_ms": 3, "avg_latency_ms": 2}, "/x")
    assert metric_columns(entry)["latency_mean_s"] == 0.002
    assert entry.details() == {"latency_ms": "3"}


def test_text_where_a_number_belongs_is_told() -> None:
    with pytest.raises(SkipEntry, match="/x/throughput: 'high' is not a number"):
        metric_columns(JsonObject({"throughput": "high"}, "/x"))


def test_whether_there_is_a_quantity() -> None:
    assert has_metric({"latency_ms": None})
    assert not has_metric({"name": "bert"})
    assert not has_metric([])


def test_a_row_becomes_a_measurement() -> None:
    found, _ = read(ROWS_FORMAT, json_document(samples.ROWS)).measurements
    assert (found.location, found.model, found.family) == ("/0", "bert-base-uncased", "bert")
    assert (found.backend, found.device_name) == ("cuda", "NVIDIA RTX 3090")
    assert (found.precision, found.batch_size, found.modality) == ("fp16", 8, "text")
    assert (found.iterations, found.warmup_iterations) == (100, 10)
    assert (found.latency_mean_s, found.throughput) == (0.0191, 316.5)
    assert found.memory_peak_bytes == 2048.5 * 2**20
    assert found.details["memory_peak_mb"].startswith("2048.5 (whose memory is not said; MB as")
    assert found.details["total_time_seconds"] == "25.3"
    assert found.details["metrics.gpu_util_percent"] == "85.3"


def test_a_row_that_is_not_compatible() -> None:
    _, found = read(ROWS_FORMAT, json_document(samples.ROWS)).measurements
    assert found.status == "unsupported"
    assert found.reason == "xclip is not compatible with webgpu"


def test_the_quantities_of_other_keys() -> None:
    row = {
        "model": "vit",
        "hardware": "cpu",
        "p99_latency_ms": "12",
        "latency_ms": 9,
        "average_latency_ms": 8,
        "sequence_length": 128,
        "test_case": "training",
    }
    found = only(read(ROWS_FORMAT, json_document([row])))
    assert (found.latency_p99_s, found.latency_mean_s) == (0.012, 0.008)
    assert (found.sequence_length, found.mode) == (128, "training")
    assert found.details == {"latency_ms": "9", "test_case": "training"}


def test_what_is_no_row_is_told() -> None:
    reading = read(ROWS_FORMAT, json_document([samples.ROWS[0], "three"]))
    assert reading.faults == ("/1: 'three' is no object",)
    assert len(reading.measurements) == 1


def test_a_list_may_have_a_head() -> None:
    rows = [{"model": "bert", "hardware": "cpu", "latency_avg_ms": 5}, {"model": "vit"}]
    value = {"timestamp": "2025-03-06T17:45:26Z", "host": "lab", "results": rows}
    reading = read(ROWS_FORMAT, json_document(value))
    (found,) = reading.measurements
    assert (found.location, found.model, found.latency_mean_s) == ("/results/0", "bert", 0.005)
    assert found.measured_at is not None
    assert found.details["host"] == "lab"
    assert reading.empty == ("/results/1",)


def test_a_mark_in_the_head_marks_each_row() -> None:
    rows = [{"model": "bert", "hardware": "cpu", "latency_ms": 5}]
    (found,) = read(ROWS_FORMAT, json_document({"mock": True, "benchmarks": rows})).measurements
    assert found.marks == ("/mock: true",)


def test_one_result_may_stand_alone() -> None:
    value = {"model": "bert", "hardware": "cuda", "samples_per_second": 12, "std_latency_ms": 0.5}
    (found,) = read(ROWS_FORMAT, json_document(value)).measurements
    assert (found.location, found.throughput, found.latency_stddev_s) == ("/", 12, 0.0005)
    assert found.details["std_latency_ms"] == "0.5 (of a sample or of all is not said)"


def too_deep(_: Any) -> NoReturn:
    raise RecursionError


def test_a_value_that_is_nested_too_deeply_is_not_readable() -> None:
    shape = LegacyFormat("deep", lambda _: True, too_deep)
    assert shape.recognises(json_document({}))
    with pytest.raises(DamagedFile, match="nested too deeply"):
        shape.read(json_document({}))


def test_nor_does_looking_at_it_fail() -> None:
    shape = LegacyFormat("deep", too_deep, lambda _: Reading(nothing="nothing"))
    assert not shape.recognises(json_document({}))


def test_predicates_take_any_value() -> None:
    assert has_map({"a": {}}, "a")
    assert not has_map({"a": []}, "a")
    assert not has_map([], "a")
    assert has_any({"a": None, "b": 0}, "a", "b")
    assert not has_any({"a": None}, "a", "b")
    assert is_map_of_maps({"a": 1, "b": {}})
    assert not is_map_of_maps({"a": 1})
