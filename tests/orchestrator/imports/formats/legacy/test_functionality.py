"""Verdicts on whether a model's check ran to its end."""

from orchestrator.imports.formats.legacy.functionality import FUNCTIONALITY
from tests.orchestrator.imports.documents import json_document, read
from tests.orchestrator.imports.formats.legacy import samples


def test_a_failed_check() -> None:
    found, *_ = read(FUNCTIONALITY, json_document(samples.FUNCTIONALITY)).found
    assert (found.place, found.model, found.backend) == ("/detailed_results/0", "bert", "cpu")
    assert (found.status, found.reason) == ("failed", "IndentationError: unexpected indent")
    assert str(found.measured_at) == "2025-03-02 22:18:40+00:00"
    assert found.latency_mean_s is None


def test_a_check_of_a_mock() -> None:
    _, found, _ = read(FUNCTIONALITY, json_document(samples.FUNCTIONALITY)).found
    assert (found.status, found.simulated) == ("ok", True)
    assert found.marks == ("/detailed_results/1/stdout: 'cpu_handler: Success (MOCK)'",)


def test_a_verdict_that_only_the_table_tells() -> None:
    *_, found = read(FUNCTIONALITY, json_document(samples.FUNCTIONALITY)).found
    assert (found.place, found.model, found.backend) == ("/model_results/vit/cuda", "vit", "cuda")
    assert found.status == "ok"


def test_the_table_alone() -> None:
    table = {"model_results": {"bert": {"cpu": False, "cuda": None, "mps": "perhaps"}}}
    reading = read(FUNCTIONALITY, json_document(table))
    assert [(found.backend, found.status) for found in reading.found] == [("cpu", "failed")]
    assert reading.faults == ("/model_results/bert/mps: 'perhaps' is neither true nor false",)


def test_no_checks() -> None:
    value = {**samples.FUNCTIONALITY, "model_results": {}, "detailed_results": []}
    reading = read(FUNCTIONALITY, json_document(value))
    assert reading.nothing == "a check of models that checked none"


def test_a_table_may_tell_how_each_model_s_script_ended() -> None:
    value = {
        "test_timestamp": "2025-03-01T15:08:41.092227",
        "summary": {"total": 2, "passed": 1},
        "model_results": {
            "canine": {"status": "failed", "return_code": 1, "stderr": "SyntaxError: broken\n"},
            "zoedepth": {"status": "passed", "return_code": 0, "elapsed_time": 0.04},
        },
        "stats": {},
    }
    failed, passed = read(FUNCTIONALITY, json_document(value)).found
    assert (failed.model, failed.status, failed.reason) == (
        "canine",
        "failed",
        "SyntaxError: broken",
    )
    assert (passed.model, passed.status, passed.backend) == ("zoedepth", "ok", None)
