"""Which benchmarks of a run completed, failed or were skipped."""

from orchestrator.imports.formats.legacy.progress import PROGRESS
from tests.orchestrator.imports.documents import json_document, only, read
from tests.orchestrator.imports.formats.legacy import samples


def test_a_failure() -> None:
    found = only(read(PROGRESS, json_document(samples.PROGRESS)))
    assert (found.place, found.model, found.backend) == ("/failed_benchmarks/0", "bert", "cpu")
    assert found.status == "failed"
    assert found.reason == (
        "Command failed with exit code 1: "
        "TypeError: __init__() got an unexpected keyword argument 'db_only'"
    )


def test_what_completed_and_what_was_skipped() -> None:
    value = {
        "completed_benchmarks": [{"model": "vit", "hardware": "CUDA", "latency_ms": 3}],
        "skipped_benchmarks": [{"model": "clip", "hardware": "mps"}],
    }
    completed, skipped = read(PROGRESS, json_document(value)).found
    assert (completed.status, completed.backend, completed.latency_mean_s) == ("ok", "cuda", 0.003)
    assert (skipped.status, skipped.reason) == ("unavailable", "skipped")


def test_nothing_ended_yet() -> None:
    reading = read(PROGRESS, json_document({**samples.PROGRESS, "failed_benchmarks": []}))
    assert reading.nothing == "the progress of a run in which nothing had ended"
