"""One model tried in several ways."""

import copy
from typing import Any

import pytest

from orchestrator.imports.formats.legacy.sweep import METHODS_FORMAT, SWEEP_FORMAT
from orchestrator.imports.measurement import ImportedMeasurement
from orchestrator.imports.reading import Reading
from tests.orchestrator.imports.documents import json_document, only, read
from tests.orchestrator.imports.formats.legacy import samples


def test_each_method_is_a_verdict_with_the_times_that_it_tells() -> None:
    reading = read(METHODS_FORMAT, json_document(samples.METHODS))
    assert reading.faults == ()
    timed, untimed, failed = reading.measurements
    assert (timed.location, timed.backend, timed.task) == (
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
    first = read(METHODS_FORMAT, json_document(samples.METHODS)).measurements[0]
    assert first.details["hardware.cuda_version"] == "12.4"
    assert first.measured_at is not None
    marked = {**samples.METHODS, "hardware": {"cuda": True, "simulated": True}}
    found = read(METHODS_FORMAT, json_document(marked)).measurements
    assert {one.marks for one in found} == {("/hardware/simulated: true",)}


def test_the_shortest_form_is_a_verdict_without_times() -> None:
    value = {
        "results": {"pipeline": {"success": True, "model": "t5-small"}},
        "metadata": {"model": "t5-small"},
    }
    (found,) = read(METHODS_FORMAT, json_document(value)).measurements
    assert (found.status, found.model, found.backend) == ("ok", "t5-small", None)


RUN = samples.SWEEP["benchmarks"]["embedding"]["bert-base-uncased"]["cuda"]


def swept(run: Any, family: str = "vision") -> Reading:
    benchmarks = {family: {"some/model": {"cpu": run}}}
    return read(SWEEP_FORMAT, json_document({**samples.SWEEP, "benchmarks": benchmarks}))


def configured(key: str, **result: Any) -> ImportedMeasurement:
    result = {"status": "completed", "avg_latency": 1, **result}
    return only(swept({"status": "completed", "benchmark_results": {key: result}}))


def test_a_configuration_becomes_a_measurement() -> None:
    found, *_ = read(SWEEP_FORMAT, json_document(samples.SWEEP)).measurements
    assert found.location == (
        "/benchmarks/embedding/bert-base-uncased/cuda/benchmark_results/batch_4_seq_128"
    )
    assert (found.model, found.family) == ("bert-base-uncased", "embedding")
    assert (found.backend, found.device_name) == ("cuda", "Quadro P4000")
    assert (found.batch_size, found.sequence_length, found.mode) == (4, 128, "inference")
    assert (found.latency_mean_s, found.throughput, found.steady_time_s) == (0.5, 8, 1.0)
    assert (found.iterations, found.durations_ns) == (2, (250000000, 750000000))
    assert (found.load_time_s, found.memory_allocator_peak_bytes) == (5.71, 1.5 * 2**20)


def test_the_machine_is_told() -> None:
    found, *_ = read(SWEEP_FORMAT, json_document(samples.SWEEP)).measurements
    assert (found.hostname, found.machine, found.python_version) == ("host", "x86_64", "3.12.3")
    assert (found.cpu_cores_physical, found.cpu_cores_logical) == (4, 8)
    assert found.memory_total_bytes == 66802003968
    assert found.cpu_model == "Xeon E3-1535M v6"
    assert found.libraries == {"openvino": "2025.0.0"}
    assert found.details["run.model_class"] == "BertModel"


def test_failures_of_a_configuration_and_of_a_load() -> None:
    _, configuration, load = read(SWEEP_FORMAT, json_document(samples.SWEEP)).measurements
    assert (configuration.status, configuration.batch_size) == ("out_of_memory", 8)
    assert (load.location, load.status) == ("/benchmarks/embedding/bert-base-uncased/cpu", "failed")
    assert load.reason == "Model loading returned None"


@pytest.mark.parametrize(
    ("key", "columns"),
    [
        ("batch_2_img_224x224", {"batch_size": 2, "image_size": 224}),
        ("batch_2_img_224x384", {"batch_size": 2, "image_size": None}),
        ("batch_2_audio_10s", {"batch_size": 2, "audio_seconds": 10}),
        ("batch_2", {"batch_size": 2, "sequence_length": None}),
        ("default", {"batch_size": None}),
    ],
)
def test_the_sizes_are_in_the_key(key: str, columns: dict[str, Any]) -> None:
    found = configured(key)
    assert {name: getattr(found, name) for name in columns} == columns


def test_tokens_that_count_the_prompt_too_stay_in_the_details() -> None:
    found = configured("batch_1_seq_32", tokens_per_second=200.0, avg_output_length=52.0)
    assert (found.mode, found.token_throughput) == ("generation", None)
    assert found.details["tokens_per_second"] == "200.0"


def test_a_run_whose_results_are_a_failure() -> None:
    results = {"status": "failed", "error": "Processor creation failed: No module named 'PIL'"}
    found = only(swept({"status": "completed", "benchmark_results": results}))
    assert (found.status, found.model, found.family) == ("unavailable", "some/model", "vision")


def test_a_run_without_results() -> None:
    reading = swept({"status": "completed", "benchmark_results": {}})
    assert reading.nothing == "a sweep that measured nothing"
    assert reading.empty == ("/benchmarks/vision/some~1model/cpu",)


def test_unclear_words_on_the_machine_cost_no_measurement() -> None:
    value = copy.deepcopy(samples.SWEEP)
    value["system_info"] |= {"total_memory_gb": "plenty", "cpu_count_physical": 0}
    found, *_ = read(SWEEP_FORMAT, json_document(value)).measurements
    assert (found.memory_total_bytes, found.cpu_cores_physical) == (None, None)
    assert found.details["system_info.total_memory_gb"] == "plenty"


def test_a_broken_run_leaves_the_others() -> None:
    value = copy.deepcopy(samples.SWEEP)
    value["benchmarks"]["embedding"]["bert-base-uncased"]["openvino"] = "later"
    reading = read(SWEEP_FORMAT, json_document(value))
    assert len(reading.measurements) == 3
    place = "/benchmarks/embedding/bert-base-uncased/openvino"
    assert reading.faults == (f"{place}: 'later' is no object",)
