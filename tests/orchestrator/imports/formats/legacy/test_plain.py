"""Files that hold no measurement, and say what they are."""

from typing import Any

from orchestrator.imports.formats.legacy.plain import (
    DATABASE,
    EMPTY_SUMMARY,
    MODELS,
    SETTINGS,
)
from tests.orchestrator.imports.documents import json_document, read
from tests.orchestrator.imports.formats.legacy import samples


def test_a_list_of_models() -> None:
    assert read(MODELS, json_document(samples.MODELS)).nothing == "a list of models"
    assert not MODELS.recognises(json_document({**samples.MODELS, "t5": "small"}))


def test_a_remark_beside_the_models_is_none_of_them() -> None:
    remarks = {"simulated_hardware": ["webgpu"], "WARNING": {"details": "simulated"}, "note": "x"}
    reading = read(MODELS, json_document({**samples.MODELS, **remarks}))
    assert reading.nothing == "a list of models"
    assert not MODELS.recognises(json_document(remarks))


def test_models_with_a_timing_are_more_than_a_list_of_models() -> None:
    timed = {"bert": {"name": "bert", "family": "embedding", "latency_ms": 5}}
    assert not MODELS.recognises(json_document(timed))


def test_a_summary_of_nothing() -> None:
    summary: dict[str, Any] = {"inference": {}, "training": {}, "hardware_compatibility": {}}
    told = read(EMPTY_SUMMARY, json_document({**summary, "simulated_hardware": ["qnn"]})).nothing
    assert told == "a summary of benchmarks without a result"
    filled = {**summary, "inference": {"bert": {"cuda": 5}}}
    assert not EMPTY_SUMMARY.recognises(json_document(filled))


def test_settings_of_a_run() -> None:
    assert read(SETTINGS, json_document(samples.SETTINGS)).nothing == "settings of a run"
    with_models = {"hardware_types": ["cpu"], "batch_sizes": "1,2", "models": samples.MODELS}
    assert read(SETTINGS, json_document(with_models)).nothing == "settings of a run"


def test_a_description_of_a_database() -> None:
    assert read(DATABASE, json_document(samples.DATABASE)).nothing == "a description of a database"
