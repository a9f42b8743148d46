"""One model tried in several ways."""

from orchestrator.imports.formats.legacy.methods import METHODS
from tests.orchestrator.imports.documents import json_document, read
from tests.orchestrator.imports.formats.legacy import samples


def test_each_method_is_a_verdict_with_the_times_that_it_tells() -> None:
    reading = read(METHODS, json_document(samples.METHODS))
    assert reading.faults == ()
    timed, untimed, failed = reading.found
    assert (timed.place, timed.backend, timed.task) == (
        "/results/pipeline_cuda",
        "cuda",
        "fill-mask",
    )
    assert (timed.latency_mean_s, timed.latency_min_s, timed.latency_max_s) == (
        0.0113,
        0.0104,
        0.012,
    )
    assert (timed.load_time_s, timed.iterations) == (4.7, 3)
    assert (untimed.status, untimed.backend, untimed.latency_mean_s) == ("ok", "openvino", None)
    assert untimed.details["inference_time"] == "0.15"
    assert (failed.status, failed.model) == ("failed", "bert-base-uncased")
    assert failed.reason == "it is not a valid model identifier: OSError: not valid"


def test_what_surrounds_the_results_is_kept() -> None:
    first = read(METHODS, json_document(samples.METHODS)).found[0]
    assert first.details["hardware.cuda_version"] == "12.4"
    assert first.measured_at is not None
    marked = {**samples.METHODS, "hardware": {"cuda": True, "simulated": True}}
    found = read(METHODS, json_document(marked)).found
    assert {one.marks for one in found} == {("/hardware/simulated: true",)}


def test_the_shortest_form_is_a_verdict_without_times() -> None:
    value = {
        "results": {"pipeline": {"success": True, "model": "t5-small"}},
        "metadata": {"model": "t5-small"},
    }
    (found,) = read(METHODS, json_document(value)).found
    assert (found.status, found.model, found.backend) == ("ok", "t5-small", None)
