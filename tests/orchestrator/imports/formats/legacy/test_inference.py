"""Direct benchmarks of several models in one file."""

import copy
from typing import Any

from orchestrator.imports.formats.legacy.inference import (
    BATCH_FORMAT,
    BY_BATCH_SIZE_FORMAT,
    DIRECT_FORMAT,
)
from tests.orchestrator.imports.documents import json_document, only, read
from tests.orchestrator.imports.formats.legacy import samples


def test_the_results_inside_are_those_of_direct_benchmarks() -> None:
    found, *_ = read(BATCH_FORMAT, json_document(samples.BATCH)).measurements
    assert found.location == "/results/prajjwal1~1bert-tiny/benchmark_data/batch_results/1"
    assert (found.backend, found.latency_mean_s) == ("cpu", 0.003147125244140625)
    assert found.details["run.command"].startswith("python run_direct_benchmark.py")


def test_a_process_that_failed() -> None:
    *_, found = read(BATCH_FORMAT, json_document(samples.BATCH)).measurements
    assert (found.location, found.model) == ("/results/google~1t5-small", "google/t5-small")
    assert found.status == "failed"
    assert found.reason == "Command failed with exit code 1: ERROR - Failed to load model"


def test_a_mark_in_a_process_output_governs_its_results() -> None:
    run = {**samples.BATCH["results"]["prajjwal1/bert-tiny"], "stdout": "using a mock model"}
    reading = read(BATCH_FORMAT, json_document({**samples.BATCH, "results": {"bert": run}}))
    assert all(found.simulated for found in reading.measurements)


def test_no_results() -> None:
    reading = read(BATCH_FORMAT, json_document({**samples.BATCH, "results": {}}))
    assert reading.nothing == "a batch of direct benchmarks without a result"


def test_a_batch_size_becomes_a_measurement() -> None:
    found, _ = read(BY_BATCH_SIZE_FORMAT, json_document(samples.BY_BATCH_SIZE)).measurements
    assert (found.location, found.model, found.family) == (
        "/batch_sizes/4",
        "bert-base-uncased",
        "embedding",
    )
    assert (found.backend, found.batch_size) == ("rocm", 4)
    assert (found.latency_mean_s, found.throughput) == (0.03, 300)
    assert found.details["memory_usage_mb"] == "148"
    assert found.details["latency_ms"] == "30 (of which kind is not said, kept as the mean)"


def test_a_timeout() -> None:
    _, found = read(BY_BATCH_SIZE_FORMAT, json_document(samples.BY_BATCH_SIZE)).measurements
    assert (found.status, found.batch_size) == ("timeout", 8)
    assert found.reason == "Benchmark timed out after 600 seconds"


def test_a_result_that_nobody_could_parse_holds_no_value() -> None:
    sizes = {"1": {"success": True, "parsed": False}, "2": {"success": True, "latency_ms": 5}}
    value = {**samples.BY_BATCH_SIZE, "batch_sizes": sizes}
    assert read(BY_BATCH_SIZE_FORMAT, json_document(value)).empty == ("/batch_sizes/1",)


def test_incompatible_without_a_result() -> None:
    value = {**samples.BY_BATCH_SIZE, "compatible": False, "batch_sizes": {}}
    found = only(read(BY_BATCH_SIZE_FORMAT, json_document(value)))
    assert (found.status, found.reason) == ("unsupported", "it is not compatible")


def test_compatible_without_a_result() -> None:
    reading = read(
        BY_BATCH_SIZE_FORMAT, json_document({**samples.BY_BATCH_SIZE, "batch_sizes": {}})
    )
    assert reading.nothing == "a benchmark of a model for which no batch size was measured"


def one(**changes: Any) -> dict[str, Any]:
    result = {**samples.DIRECT["batch_results"]["1"], **changes}
    return {**samples.DIRECT, "batch_results": {"1": result}}


def test_a_batch_size_becomes_a_measurement_direct() -> None:
    found, _ = read(DIRECT_FORMAT, json_document(samples.DIRECT)).measurements
    assert (found.location, found.model, found.backend) == (
        "/batch_results/1",
        "prajjwal1/bert-tiny",
        "cpu",
    )
    assert (found.runtime, found.mode, found.batch_size) == ("torch", "inference", 1)
    assert found.latency_mean_s == 0.003147125244140625
    assert found.throughput == 317.75030303030303
    assert found.durations_ns == (2961874, 4429817)
    assert found.memory_average_bytes == 505.93359375 * 2**20
    assert found.memory_peak_bytes is None
    assert not found.simulated
    assert found.details["memory_mb"].startswith("505.93359375 (mean resident memory")


def test_a_failure_becomes_one_too() -> None:
    _, found = read(DIRECT_FORMAT, json_document(samples.DIRECT)).measurements
    assert (found.status, found.batch_size) == ("out_of_memory", 2)
    assert found.reason == "CUDA out of memory. Tried to allocate 2 GiB"
    assert found.latency_mean_s is None


def test_a_silent_fallback_to_the_cpu_is_told() -> None:
    found = only(read(DIRECT_FORMAT, json_document({**one(), "hardware": "cuda"})))
    assert found.backend == "cpu"
    assert found.details["hardware"] == "cuda"


def test_memory_of_an_accelerator_stays_in_the_details() -> None:
    found = only(read(DIRECT_FORMAT, json_document({**one(device="cuda:0"), "hardware": "cuda"})))
    assert (found.backend, found.memory_average_bytes) == ("cuda", None)
    assert found.details["memory_mb"] == "505.93359375"


def test_memory_that_was_not_measured_is_none() -> None:
    assert only(read(DIRECT_FORMAT, json_document(one(memory_mb=0)))).memory_average_bytes is None


def test_a_model_that_did_not_load() -> None:
    value = {"model": "t5", "hardware": "cpu", "success": False, "error": "Failed to load model"}
    found = only(read(DIRECT_FORMAT, json_document(value)))
    assert (found.location, found.model, found.backend) == ("/", "t5", "cpu")
    assert (found.status, found.reason) == ("failed", "Failed to load model")


def test_nothing_measured() -> None:
    reading = read(DIRECT_FORMAT, json_document({**samples.DIRECT, "batch_results": {}}))
    assert reading.nothing == "a direct benchmark that measured nothing"


def test_a_broken_number_leaves_the_other_batch_sizes() -> None:
    value = copy.deepcopy(samples.DIRECT)
    value["batch_results"]["1"]["avg_latency_ms"] = -3
    reading = read(DIRECT_FORMAT, json_document(value))
    assert reading.faults == ("/batch_results/1/avg_latency_ms: -3 is negative",)
    assert [found.location for found in reading.measurements] == ["/batch_results/2"]


def test_a_mark_above_governs_every_batch_size() -> None:
    reading = read(DIRECT_FORMAT, json_document({**samples.DIRECT, "is_simulated": True}))
    assert [found.marks for found in reading.measurements] == [("/is_simulated: true",)] * 2
