"""Models on the platforms of browsers, by modality."""

import copy

from orchestrator.imports.formats.legacy.comparison import (
    COMPARISON_FORMAT,
    COMPATIBILITY_FORMAT,
    FUNCTIONALITY_FORMAT,
)
from tests.orchestrator.imports.documents import json_document, read
from tests.orchestrator.imports.formats.legacy import samples


def test_each_model_on_each_platform_is_an_entry() -> None:
    reading = read(COMPARISON_FORMAT, json_document(samples.COMPARISON))
    assert reading.faults == ()
    webnn, webgpu, audio = reading.measurements
    assert webnn.location == "/results_by_modality/text/0/webnn"
    assert (webnn.model, webnn.backend, webnn.modality) == ("bert-base-uncased", "webnn", "text")
    assert (webnn.latency_mean_s, webnn.memory_peak_bytes) == (0.0152, None)
    assert webnn.details["time_ms"] == "15.2 (of which kind is not said, kept as the mean)"
    assert webnn.details["memory_mb"] == "35"
    assert webnn.details["test_environment.test_hardware"] == "a processor, a graphics card"
    assert (webgpu.status, webgpu.reason) == ("unsupported", "Unsupported model architecture")
    assert audio.model == "whisper-tiny"


def test_a_mark_of_a_modality_governs_its_rows_alone() -> None:
    webnn, webgpu, audio = read(COMPARISON_FORMAT, json_document(samples.COMPARISON)).measurements
    assert (webnn.marks, webgpu.marks) == ((), ())
    told = "/implementation_types/audio/webgpu: 'SIMULATED_WEBGPU_TRANSFORMERS_JS'"
    assert audio.marks == (told,)


def test_without_models_it_holds_no_measurement() -> None:
    reading = read(COMPARISON_FORMAT, json_document({"results_by_modality": {"text": []}}))
    assert reading.nothing == "a comparison of platforms without a model"


CPU = "/model_families/embedding/hardware_compatibility/cpu/benchmark_results"


def test_means_over_a_sweep_stay_in_the_details() -> None:
    found, _ = read(COMPATIBILITY_FORMAT, json_document(samples.COMPATIBILITY)).measurements
    assert (found.location, found.model, found.backend) == (f"{CPU}/0", "bert-base-uncased", "cpu")
    assert (found.status, found.family, found.latency_mean_s) == ("ok", "embedding", None)
    assert found.details["mean_latency"] == "1.1"
    assert found.details["means"] == "over the shapes of a sweep"
    assert found.details["performance_rating"] == "medium"


def test_a_model_without_a_latency_failed() -> None:
    _, found = read(COMPATIBILITY_FORMAT, json_document(samples.COMPATIBILITY)).measurements
    assert (found.model, found.status) == ("gpt2", "failed")
    assert found.reason == "no mean_latency was recorded"
    assert "means" not in found.details


def test_a_broken_mean_is_told() -> None:
    value = copy.deepcopy(samples.COMPATIBILITY)
    results = value["model_families"]["embedding"]["hardware_compatibility"]["cpu"]
    results["benchmark_results"][0]["mean_latency"] = "fast"
    reading = read(COMPATIBILITY_FORMAT, json_document(value))
    assert reading.faults == (f"{CPU}/0/mean_latency: 'fast' is not a number",)


def test_an_empty_matrix_gives_no_verdicts() -> None:
    for families in ({}, {"audio": {"hardware_compatibility": {"cpu": {"compatible": False}}}}):
        value = {"hardware_types": [], "model_families": families}
        reading = read(COMPATIBILITY_FORMAT, json_document(value))
        assert reading.nothing == "a compatibility matrix that names no measured model"


def test_a_failed_check() -> None:
    found, *_ = read(FUNCTIONALITY_FORMAT, json_document(samples.FUNCTIONALITY)).measurements
    assert (found.location, found.model, found.backend) == ("/detailed_results/0", "bert", "cpu")
    assert (found.status, found.reason) == ("failed", "IndentationError: unexpected indent")
    assert str(found.measured_at) == "2025-03-02 22:18:40+00:00"
    assert found.latency_mean_s is None


def test_a_check_of_a_mock() -> None:
    _, found, _ = read(FUNCTIONALITY_FORMAT, json_document(samples.FUNCTIONALITY)).measurements
    assert (found.status, found.simulated) == ("ok", True)
    assert found.marks == ("/detailed_results/1/stdout: 'cpu_handler: Success (MOCK)'",)


def test_a_verdict_that_only_the_table_tells() -> None:
    *_, found = read(FUNCTIONALITY_FORMAT, json_document(samples.FUNCTIONALITY)).measurements
    assert (found.location, found.model, found.backend) == (
        "/model_results/vit/cuda",
        "vit",
        "cuda",
    )
    assert found.status == "ok"


def test_the_table_alone() -> None:
    table = {"model_results": {"bert": {"cpu": False, "cuda": None, "mps": "perhaps"}}}
    reading = read(FUNCTIONALITY_FORMAT, json_document(table))
    assert [(found.backend, found.status) for found in reading.measurements] == [("cpu", "failed")]
    assert reading.faults == ("/model_results/bert/mps: 'perhaps' is neither true nor false",)


def test_no_checks() -> None:
    value = {**samples.FUNCTIONALITY, "model_results": {}, "detailed_results": []}
    reading = read(FUNCTIONALITY_FORMAT, json_document(value))
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
    failed, passed = read(FUNCTIONALITY_FORMAT, json_document(value)).measurements
    assert (failed.model, failed.status, failed.reason) == (
        "canine",
        "failed",
        "SyntaxError: broken",
    )
    assert (passed.model, passed.status, passed.backend) == ("zoedepth", "ok", None)
