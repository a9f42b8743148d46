"""One model in a browser."""

from orchestrator.imports.formats.legacy.suite import (
    BROWSER_FORMAT,
    BROWSER_LIST_FORMAT,
    PROGRESS_FORMAT,
    SUITE_FORMAT,
)
from tests.orchestrator.imports.documents import json_document, only, read
from tests.orchestrator.imports.formats.legacy import samples


def test_a_simulated_result_is_marked() -> None:
    found = only(read(BROWSER_FORMAT, json_document(samples.BROWSER)))
    assert (found.model, found.backend) == ("facebook/deit-tiny-patch16-224", "webgpu")
    assert (found.latency_mean_s, found.load_time_s, found.throughput) == (0.08, 0.48, 100)
    assert found.simulated
    assert found.marks == ("/platform_support/simulated: true", "/is_simulation: true")
    assert found.details["metrics.memory_mb"] == "250"
    assert found.memory_peak_bytes is None


def test_without_a_mark_it_is_not() -> None:
    value = {**samples.BROWSER, "is_simulation": False, "platform_support": {"simulated": False}}
    assert not only(read(BROWSER_FORMAT, json_document(value))).simulated


def test_a_page_that_nobody_ran() -> None:
    value = {**samples.BROWSER, "status": "automated", "metrics": None}
    found = only(read(BROWSER_FORMAT, json_document(value)))
    assert found.status == "lost"
    assert found.reason == "status is automated: no result was recorded"


def test_a_platform_that_is_not_there() -> None:
    value = {"model_key": "vit", "platform": "webnn", "status": "skipped", "reason": "no browser"}
    found = only(read(BROWSER_FORMAT, json_document(value)))
    assert (found.status, found.reason) == ("unavailable", "no browser")


def test_a_list_of_models_is_read_one_by_one() -> None:
    first, second = read(BROWSER_LIST_FORMAT, json_document(samples.BROWSERS)).measurements
    alone = read(BROWSER_FORMAT, json_document(samples.BROWSER)).measurements[0]
    assert first == alone.model_copy(update={"location": "/results/0", "marks": first.marks})
    assert first.simulated == second.simulated == alone.simulated
    assert (second.model, second.modality) == ("google/vit-base-patch16-224", "vision")


def test_a_list_that_is_marked_as_a_whole_marks_each() -> None:
    value = {**samples.BROWSERS, "simulation_mode": True}
    for found in read(BROWSER_LIST_FORMAT, json_document(value)).measurements:
        assert "/simulation_mode: true" in found.marks


def test_a_list_without_results_holds_no_measurement() -> None:
    reading = read(BROWSER_LIST_FORMAT, json_document({**samples.BROWSERS, "results": []}))
    assert reading.nothing == "a browser's tests without a result"


def test_a_test_of_a_platform_may_say_success_instead_of_a_status() -> None:
    value = {
        "model": "prajjwal1/bert-tiny",
        "platform": "webgpu",
        "success": False,
        "execution_time": 0,
        "error": "it got an unexpected keyword argument 'model_id'",
    }
    found = only(read(BROWSER_FORMAT, json_document(value)))
    assert (found.model, found.backend, found.status) == (value["model"], "webgpu", "failed")
    assert found.reason == value["error"]


def test_a_failure() -> None:
    found = only(read(PROGRESS_FORMAT, json_document(samples.PROGRESS)))
    assert (found.location, found.model, found.backend) == ("/failed_benchmarks/0", "bert", "cpu")
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
    completed, skipped = read(PROGRESS_FORMAT, json_document(value)).measurements
    assert (completed.status, completed.backend, completed.latency_mean_s) == ("ok", "cuda", 0.003)
    assert (skipped.status, skipped.reason) == ("unavailable", "skipped")


def test_nothing_ended_yet() -> None:
    reading = read(PROGRESS_FORMAT, json_document({**samples.PROGRESS, "failed_benchmarks": []}))
    assert reading.nothing == "the progress of a run in which nothing had ended"


def test_a_check_that_was_written_again_for_other_hardware_counts_once() -> None:
    found = read(SUITE_FORMAT, json_document(samples.SUITE)).measurements
    checks = [item for item in found if "/detailed_results/" in item.location]
    assert [item.backend for item in checks] == ["cpu", "cpu"]
    assert {item.details["same_at"] for item in checks} == {"/functionality_verification/cuda"}


def test_hardware_that_could_not_be_checked_is_told_of_each_model() -> None:
    found = read(SUITE_FORMAT, json_document(samples.SUITE)).measurements
    place = "/functionality_verification/openvino"
    failed = {item.location: item for item in found if item.location.startswith(place)}
    assert list(failed) == [f"{place} (bert)", f"{place} (clip)"]
    bert = failed[f"{place} (bert)"]
    assert (bert.model, bert.backend) == ("prajjwal1/bert-tiny", "openvino")
    assert bert.status == "unavailable"


def test_a_sweep_inside_is_read() -> None:
    found = read(SUITE_FORMAT, json_document(samples.SUITE)).measurements
    place = "/performance_benchmarks/embedding/benchmarks/embedding/bert-base-uncased/cuda"
    assert [item.latency_mean_s for item in found if item.location.startswith(place)] == [0.5, None]


def test_a_family_whose_sweep_failed_is_told_of_its_models() -> None:
    *_, found = read(SUITE_FORMAT, json_document(samples.SUITE)).measurements
    assert found.location == "/performance_benchmarks/multimodal (clip)"
    assert (found.model, found.family, found.backend) == ("openai/clip-vit", "multimodal", None)
    assert found.reason == "NameError: name 'false' is not defined. Did you mean: 'False'?"


def test_without_a_list_of_models_the_family_stands_for_them() -> None:
    value = {"performance_benchmarks": {"audio": {"status": "failed", "error": "killed"}}}
    (found,) = read(SUITE_FORMAT, json_document(value)).measurements
    assert (found.model, found.family, found.status) == ("audio", "audio", "failed")


def test_nothing_ran() -> None:
    reading = read(
        SUITE_FORMAT, json_document({"performance_benchmarks": {}, "models": samples.MODELS})
    )
    assert reading.nothing == "a suite that ran nothing"
