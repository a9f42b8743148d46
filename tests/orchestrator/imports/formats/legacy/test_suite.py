"""Checks on each kind of hardware, then a sweep of each family."""

from orchestrator.imports.formats.legacy.suite import SUITE
from tests.orchestrator.imports.documents import json_document, read
from tests.orchestrator.imports.formats.legacy import samples


def test_a_check_that_was_written_again_for_other_hardware_counts_once() -> None:
    found = read(SUITE, json_document(samples.SUITE)).found
    checks = [item for item in found if "/detailed_results/" in item.place]
    assert [item.backend for item in checks] == ["cpu", "cpu"]
    assert {item.details["same_at"] for item in checks} == {"/functionality_verification/cuda"}


def test_hardware_that_could_not_be_checked_is_told_of_each_model() -> None:
    found = read(SUITE, json_document(samples.SUITE)).found
    place = "/functionality_verification/openvino"
    failed = {item.place: item for item in found if item.place.startswith(place)}
    assert list(failed) == [f"{place} (bert)", f"{place} (clip)"]
    bert = failed[f"{place} (bert)"]
    assert (bert.model, bert.backend) == ("prajjwal1/bert-tiny", "openvino")
    assert bert.status == "unavailable"


def test_a_sweep_inside_is_read() -> None:
    found = read(SUITE, json_document(samples.SUITE)).found
    place = "/performance_benchmarks/embedding/benchmarks/embedding/bert-base-uncased/cuda"
    assert [item.latency_mean_s for item in found if item.place.startswith(place)] == [0.5, None]


def test_a_family_whose_sweep_failed_is_told_of_its_models() -> None:
    *_, found = read(SUITE, json_document(samples.SUITE)).found
    assert found.place == "/performance_benchmarks/multimodal (clip)"
    assert (found.model, found.family, found.backend) == ("openai/clip-vit", "multimodal", None)
    assert found.reason == "NameError: name 'false' is not defined. Did you mean: 'False'?"


def test_without_a_list_of_models_the_family_stands_for_them() -> None:
    value = {"performance_benchmarks": {"audio": {"status": "failed", "error": "killed"}}}
    (found,) = read(SUITE, json_document(value)).found
    assert (found.model, found.family, found.status) == ("audio", "audio", "failed")


def test_nothing_ran() -> None:
    reading = read(SUITE, json_document({"performance_benchmarks": {}, "models": samples.MODELS}))
    assert reading.nothing == "a suite that ran nothing"
