"""Direct benchmarks of several models in one file."""

from orchestrator.imports.formats.legacy.batch import BATCH
from tests.orchestrator.imports.documents import json_document, read
from tests.orchestrator.imports.formats.legacy import samples


def test_the_results_inside_are_those_of_direct_benchmarks() -> None:
    found, *_ = read(BATCH, json_document(samples.BATCH)).found
    assert found.place == "/results/prajjwal1~1bert-tiny/benchmark_data/batch_results/1"
    assert (found.backend, found.latency_mean_s) == ("cpu", 0.003147125244140625)
    assert found.details["run.command"].startswith("python run_direct_benchmark.py")


def test_a_process_that_failed() -> None:
    *_, found = read(BATCH, json_document(samples.BATCH)).found
    assert (found.place, found.model) == ("/results/google~1t5-small", "google/t5-small")
    assert found.status == "failed"
    assert found.reason == "Command failed with exit code 1: ERROR - Failed to load model"


def test_a_mark_in_a_process_output_governs_its_results() -> None:
    run = {**samples.BATCH["results"]["prajjwal1/bert-tiny"], "stdout": "using a mock model"}
    reading = read(BATCH, json_document({**samples.BATCH, "results": {"bert": run}}))
    assert all(found.simulated for found in reading.found)


def test_no_results() -> None:
    reading = read(BATCH, json_document({**samples.BATCH, "results": {}}))
    assert reading.nothing == "a batch of direct benchmarks without a result"
