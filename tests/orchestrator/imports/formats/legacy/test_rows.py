"""A list of results."""

from orchestrator.imports.formats.legacy.rows import ROWS
from tests.orchestrator.imports.documents import json_document, only, read
from tests.orchestrator.imports.formats.legacy import samples


def test_a_row_becomes_a_measurement() -> None:
    found, _ = read(ROWS, json_document(samples.ROWS)).found
    assert (found.place, found.model, found.family) == ("/0", "bert-base-uncased", "bert")
    assert (found.backend, found.device_name) == ("cuda", "NVIDIA RTX 3090")
    assert (found.precision, found.batch_size, found.modality) == ("fp16", 8, "text")
    assert (found.iterations, found.warmup_iterations) == (100, 10)
    assert (found.latency_mean_s, found.throughput) == (0.0191, 316.5)
    assert found.memory_peak_bytes == 2048.5 * 2**20
    assert found.details["memory_peak_mb"].startswith("2048.5 (whose memory is not said; MB as")
    assert found.details["total_time_seconds"] == "25.3"
    assert found.details["metrics.gpu_util_percent"] == "85.3"


def test_a_row_that_is_not_compatible() -> None:
    _, found = read(ROWS, json_document(samples.ROWS)).found
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
    found = only(read(ROWS, json_document([row])))
    assert (found.latency_p99_s, found.latency_mean_s) == (0.012, 0.008)
    assert (found.sequence_length, found.mode) == (128, "training")
    assert found.details == {"latency_ms": "9", "test_case": "training"}


def test_what_is_no_row_is_told() -> None:
    reading = read(ROWS, json_document([samples.ROWS[0], "three"]))
    assert reading.faults == ("/1: 'three' is no object",)
    assert len(reading.found) == 1


def test_a_list_may_have_a_head() -> None:
    rows = [{"model": "bert", "hardware": "cpu", "latency_avg_ms": 5}, {"model": "vit"}]
    value = {"timestamp": "2025-03-06T17:45:26Z", "host": "lab", "results": rows}
    reading = read(ROWS, json_document(value))
    (found,) = reading.found
    assert (found.place, found.model, found.latency_mean_s) == ("/results/0", "bert", 0.005)
    assert found.measured_at is not None
    assert found.details["host"] == "lab"
    assert reading.empty == ("/results/1",)


def test_a_mark_in_the_head_marks_each_row() -> None:
    rows = [{"model": "bert", "hardware": "cpu", "latency_ms": 5}]
    (found,) = read(ROWS, json_document({"mock": True, "benchmarks": rows})).found
    assert found.marks == ("/mock: true",)


def test_one_result_may_stand_alone() -> None:
    value = {"model": "bert", "hardware": "cuda", "samples_per_second": 12, "std_latency_ms": 0.5}
    (found,) = read(ROWS, json_document(value)).found
    assert (found.place, found.throughput, found.latency_stddev_s) == ("/", 12, 0.0005)
    assert found.details["std_latency_ms"] == "0.5 (of a sample or of all is not said)"
