"""A matrix of families and hardware."""

import copy

from orchestrator.imports.formats.legacy.compatibility import COMPATIBILITY
from tests.orchestrator.imports.documents import json_document, read
from tests.orchestrator.imports.formats.legacy import samples

CPU = "/model_families/embedding/hardware_compatibility/cpu/benchmark_results"


def test_means_over_a_sweep_stay_in_the_details() -> None:
    found, _ = read(COMPATIBILITY, json_document(samples.COMPATIBILITY)).found
    assert (found.place, found.model, found.backend) == (f"{CPU}/0", "bert-base-uncased", "cpu")
    assert (found.status, found.family, found.latency_mean_s) == ("ok", "embedding", None)
    assert found.details["mean_latency"] == "1.1"
    assert found.details["means"] == "over the shapes of a sweep"
    assert found.details["performance_rating"] == "medium"


def test_a_model_without_a_latency_failed() -> None:
    _, found = read(COMPATIBILITY, json_document(samples.COMPATIBILITY)).found
    assert (found.model, found.status) == ("gpt2", "failed")
    assert found.reason == "no mean_latency was recorded"
    assert "means" not in found.details


def test_a_broken_mean_is_told() -> None:
    value = copy.deepcopy(samples.COMPATIBILITY)
    results = value["model_families"]["embedding"]["hardware_compatibility"]["cpu"]
    results["benchmark_results"][0]["mean_latency"] = "fast"
    reading = read(COMPATIBILITY, json_document(value))
    assert reading.faults == (f"{CPU}/0/mean_latency: 'fast' is not a number",)


def test_an_empty_matrix_gives_no_verdicts() -> None:
    for families in ({}, {"audio": {"hardware_compatibility": {"cpu": {"compatible": False}}}}):
        value = {"hardware_types": [], "model_families": families}
        reading = read(COMPATIBILITY, json_document(value))
        assert reading.nothing == "a compatibility matrix that names no measured model"
