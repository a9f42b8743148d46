"""A summary of a sweep."""

import copy
from typing import Any

from orchestrator.imports.formats.legacy.summaries import (
    DATABASE_FORMAT,
    EMPTY_SUMMARY_FORMAT,
    MODELS_FORMAT,
    SETTINGS_FORMAT,
    SUMMARY_FORMAT,
)
from tests.orchestrator.imports.documents import json_document, read
from tests.orchestrator.imports.formats.legacy import samples

PLACE = "/model_families/embedding/hardware_results/cpu"


def test_the_means_belong_to_the_models_in_order() -> None:
    first, second = read(SUMMARY_FORMAT, json_document(samples.DIGEST)).measurements
    assert (first.location, first.model) == (f"{PLACE}/latency_ms/0", "bert-base-uncased")
    assert (second.model, second.backend, second.status) == ("roberta-base", "cpu", "ok")
    assert (second.details["latency_ms"], second.details["throughput"]) == ("1057.4", "14")
    assert second.details["means"] == "over the shapes of a sweep"
    assert second.latency_mean_s is None


def test_lists_of_another_length_are_not_guessed_at() -> None:
    value = copy.deepcopy(samples.DIGEST)
    results = value["model_families"]["embedding"]["hardware_results"]
    results["cuda"] = {"latency_ms": [5], "throughput": [1]}
    reading = read(SUMMARY_FORMAT, json_document(value))
    assert len(reading.measurements) == 2
    place = PLACE.replace("cpu", "cuda")
    assert reading.faults == (f"{place}: its lists are not as long as `models_tested`",)


def test_no_results() -> None:
    family = {"models_tested": ["a"], "hardware_results": {}}
    value = {**samples.DIGEST, "model_families": {"embedding": family}}
    assert read(SUMMARY_FORMAT, json_document(value)).nothing == "a summary without results"


def test_lists_without_values_are_no_result() -> None:
    value = copy.deepcopy(samples.DIGEST)
    results = value["model_families"]["embedding"]["hardware_results"]
    results["cpu"] = {"latency_ms": [], "throughput": []}
    reading = read(SUMMARY_FORMAT, json_document(value))
    assert reading.nothing == "a summary without results"


def test_a_list_of_models() -> None:
    assert read(MODELS_FORMAT, json_document(samples.MODELS)).nothing == "a list of models"
    assert not MODELS_FORMAT.recognises(json_document({**samples.MODELS, "t5": "small"}))


def test_a_remark_beside_the_models_is_none_of_them() -> None:
    remarks = {"simulated_hardware": ["webgpu"], "WARNING": {"details": "simulated"}, "note": "x"}
    reading = read(MODELS_FORMAT, json_document({**samples.MODELS, **remarks}))
    assert reading.nothing == "a list of models"
    assert not MODELS_FORMAT.recognises(json_document(remarks))


def test_models_with_a_timing_are_more_than_a_list_of_models() -> None:
    timed = {"bert": {"name": "bert", "family": "embedding", "latency_ms": 5}}
    assert not MODELS_FORMAT.recognises(json_document(timed))


def test_a_summary_of_nothing() -> None:
    summary: dict[str, Any] = {"inference": {}, "training": {}, "hardware_compatibility": {}}
    told = read(
        EMPTY_SUMMARY_FORMAT, json_document({**summary, "simulated_hardware": ["qnn"]})
    ).nothing
    assert told == "a summary of benchmarks without a result"
    filled = {**summary, "inference": {"bert": {"cuda": 5}}}
    assert not EMPTY_SUMMARY_FORMAT.recognises(json_document(filled))


def test_settings_of_a_run() -> None:
    assert read(SETTINGS_FORMAT, json_document(samples.SETTINGS)).nothing == "settings of a run"
    with_models = {"hardware_types": ["cpu"], "batch_sizes": "1,2", "models": samples.MODELS}
    assert read(SETTINGS_FORMAT, json_document(with_models)).nothing == "settings of a run"


def test_a_description_of_a_database() -> None:
    assert (
        read(DATABASE_FORMAT, json_document(samples.DATABASE)).nothing
        == "a description of a database"
    )
