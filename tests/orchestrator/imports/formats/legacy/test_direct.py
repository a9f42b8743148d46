"""One model on one device, a result for each batch size."""

import copy
from typing import Any

from orchestrator.imports.formats.legacy.direct import DIRECT
from tests.orchestrator.imports.documents import json_document, only, read
from tests.orchestrator.imports.formats.legacy import samples


def one(**changes: Any) -> dict[str, Any]:
    result = {**samples.DIRECT["batch_results"]["1"], **changes}
    return {**samples.DIRECT, "batch_results": {"1": result}}


def test_a_batch_size_becomes_a_measurement() -> None:
    found, _ = read(DIRECT, json_document(samples.DIRECT)).found
    assert (found.place, found.model, found.backend) == (
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
    _, found = read(DIRECT, json_document(samples.DIRECT)).found
    assert (found.status, found.batch_size) == ("out_of_memory", 2)
    assert found.reason == "CUDA out of memory. Tried to allocate 2 GiB"
    assert found.latency_mean_s is None


def test_a_silent_fallback_to_the_cpu_is_told() -> None:
    found = only(read(DIRECT, json_document({**one(), "hardware": "cuda"})))
    assert found.backend == "cpu"
    assert found.details["hardware"] == "cuda"


def test_memory_of_an_accelerator_stays_in_the_details() -> None:
    found = only(read(DIRECT, json_document({**one(device="cuda:0"), "hardware": "cuda"})))
    assert (found.backend, found.memory_average_bytes) == ("cuda", None)
    assert found.details["memory_mb"] == "505.93359375"


def test_memory_that_was_not_measured_is_none() -> None:
    assert only(read(DIRECT, json_document(one(memory_mb=0)))).memory_average_bytes is None


def test_a_model_that_did_not_load() -> None:
    value = {"model": "t5", "hardware": "cpu", "success": False, "error": "Failed to load model"}
    found = only(read(DIRECT, json_document(value)))
    assert (found.place, found.model, found.backend) == ("/", "t5", "cpu")
    assert (found.status, found.reason) == ("failed", "Failed to load model")


def test_nothing_measured() -> None:
    reading = read(DIRECT, json_document({**samples.DIRECT, "batch_results": {}}))
    assert reading.nothing == "a direct benchmark that measured nothing"


def test_a_broken_number_leaves_the_other_batch_sizes() -> None:
    value = copy.deepcopy(samples.DIRECT)
    value["batch_results"]["1"]["avg_latency_ms"] = -3
    reading = read(DIRECT, json_document(value))
    assert reading.faults == ("/batch_results/1/avg_latency_ms: -3 is negative",)
    assert [found.place for found in reading.found] == ["/batch_results/2"]


def test_a_mark_above_governs_every_batch_size() -> None:
    reading = read(DIRECT, json_document({**samples.DIRECT, "is_simulated": True}))
    assert [found.marks for found in reading.found] == [("/is_simulated: true",)] * 2
