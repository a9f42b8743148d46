"""One model in a browser."""

from orchestrator.imports.formats.legacy.browser import BROWSER, BROWSERS
from tests.orchestrator.imports.documents import json_document, only, read
from tests.orchestrator.imports.formats.legacy import samples


def test_a_simulated_result_is_marked() -> None:
    found = only(read(BROWSER, json_document(samples.BROWSER)))
    assert (found.model, found.backend) == ("facebook/deit-tiny-patch16-224", "webgpu")
    assert (found.latency_mean_s, found.load_time_s, found.throughput) == (0.08, 0.48, 100)
    assert found.simulated
    assert found.marks == ("/platform_support/simulated: true", "/is_simulation: true")
    assert found.details["metrics.memory_mb"] == "250"
    assert found.memory_peak_bytes is None


def test_without_a_mark_it_is_not() -> None:
    value = {**samples.BROWSER, "is_simulation": False, "platform_support": {"simulated": False}}
    assert not only(read(BROWSER, json_document(value))).simulated


def test_a_page_that_nobody_ran() -> None:
    value = {**samples.BROWSER, "status": "automated", "metrics": None}
    found = only(read(BROWSER, json_document(value)))
    assert found.status == "lost"
    assert found.reason == "status is automated: no result was recorded"


def test_a_platform_that_is_not_there() -> None:
    value = {"model_key": "vit", "platform": "webnn", "status": "skipped", "reason": "no browser"}
    found = only(read(BROWSER, json_document(value)))
    assert (found.status, found.reason) == ("unavailable", "no browser")


def test_a_list_of_models_is_read_one_by_one() -> None:
    first, second = read(BROWSERS, json_document(samples.BROWSERS)).found
    alone = read(BROWSER, json_document(samples.BROWSER)).found[0]
    assert first == alone.model_copy(update={"place": "/results/0", "marks": first.marks})
    assert first.simulated == second.simulated == alone.simulated
    assert (second.model, second.modality) == ("google/vit-base-patch16-224", "vision")


def test_a_list_that_is_marked_as_a_whole_marks_each() -> None:
    value = {**samples.BROWSERS, "simulation_mode": True}
    for found in read(BROWSERS, json_document(value)).found:
        assert "/simulation_mode: true" in found.marks


def test_a_list_without_results_holds_no_measurement() -> None:
    reading = read(BROWSERS, json_document({**samples.BROWSERS, "results": []}))
    assert reading.nothing == "a browser's tests without a result"


def test_a_test_of_a_platform_may_say_success_instead_of_a_status() -> None:
    value = {
        "model": "prajjwal1/bert-tiny",
        "platform": "webgpu",
        "success": False,
        "execution_time": 0,
        "error": "it got an unexpected keyword argument 'model_id'",
    }
    found = only(read(BROWSER, json_document(value)))
    assert (found.model, found.backend, found.status) == (value["model"], "webgpu", "failed")
    assert found.reason == value["error"]
