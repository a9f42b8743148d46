"""A summary of a sweep."""

import copy

from orchestrator.imports.formats.legacy.digest import DIGEST
from tests.orchestrator.imports.documents import json_document, read
from tests.orchestrator.imports.formats.legacy import samples

PLACE = "/model_families/embedding/hardware_results/cpu"


def test_the_means_belong_to_the_models_in_order() -> None:
    first, second = read(DIGEST, json_document(samples.DIGEST)).found
    assert (first.place, first.model) == (f"{PLACE}/latency_ms/0", "bert-base-uncased")
    assert (second.model, second.backend, second.status) == ("roberta-base", "cpu", "ok")
    assert (second.details["latency_ms"], second.details["throughput"]) == ("1057.4", "14")
    assert second.details["means"] == "over the shapes of a sweep"
    assert second.latency_mean_s is None


def test_lists_of_another_length_are_not_guessed_at() -> None:
    value = copy.deepcopy(samples.DIGEST)
    results = value["model_families"]["embedding"]["hardware_results"]
    results["cuda"] = {"latency_ms": [5], "throughput": [1]}
    reading = read(DIGEST, json_document(value))
    assert len(reading.found) == 2
    place = PLACE.replace("cpu", "cuda")
    assert reading.faults == (f"{place}: its lists are not as long as `models_tested`",)


def test_no_results() -> None:
    family = {"models_tested": ["a"], "hardware_results": {}}
    value = {**samples.DIGEST, "model_families": {"embedding": family}}
    assert read(DIGEST, json_document(value)).nothing == "a summary without results"


def test_lists_without_values_are_no_result() -> None:
    value = copy.deepcopy(samples.DIGEST)
    results = value["model_families"]["embedding"]["hardware_results"]
    results["cpu"] = {"latency_ms": [], "throughput": []}
    reading = read(DIGEST, json_document(value))
    assert reading.nothing == "a summary without results"
