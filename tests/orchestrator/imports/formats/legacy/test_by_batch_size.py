"""One model on one kind of hardware, rounded numbers for each batch size."""

from orchestrator.imports.formats.legacy.by_batch_size import BY_BATCH_SIZE
from tests.orchestrator.imports.documents import json_document, only, read
from tests.orchestrator.imports.formats.legacy import samples


def test_a_batch_size_becomes_a_measurement() -> None:
    found, _ = read(BY_BATCH_SIZE, json_document(samples.BY_BATCH_SIZE)).found
    assert (found.place, found.model, found.family) == (
        "/batch_sizes/4",
        "bert-base-uncased",
        "embedding",
    )
    assert (found.backend, found.batch_size) == ("rocm", 4)
    assert (found.latency_mean_s, found.throughput) == (0.03, 300)
    assert found.details["memory_usage_mb"] == "148"
    assert found.details["latency_ms"] == "30 (of which kind is not said, kept as the mean)"


def test_a_timeout() -> None:
    _, found = read(BY_BATCH_SIZE, json_document(samples.BY_BATCH_SIZE)).found
    assert (found.status, found.batch_size) == ("timeout", 8)
    assert found.reason == "Benchmark timed out after 600 seconds"


def test_a_result_that_nobody_could_parse_holds_no_value() -> None:
    sizes = {"1": {"success": True, "parsed": False}, "2": {"success": True, "latency_ms": 5}}
    value = {**samples.BY_BATCH_SIZE, "batch_sizes": sizes}
    assert read(BY_BATCH_SIZE, json_document(value)).empty == ("/batch_sizes/1",)


def test_incompatible_without_a_result() -> None:
    value = {**samples.BY_BATCH_SIZE, "compatible": False, "batch_sizes": {}}
    found = only(read(BY_BATCH_SIZE, json_document(value)))
    assert (found.status, found.reason) == ("unsupported", "it is not compatible")


def test_compatible_without_a_result() -> None:
    reading = read(BY_BATCH_SIZE, json_document({**samples.BY_BATCH_SIZE, "batch_sizes": {}}))
    assert reading.nothing == "a benchmark of a model for which no batch size was measured"
