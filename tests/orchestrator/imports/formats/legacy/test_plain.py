"""Files that hold no measurement, and say what they are."""

from orchestrator.imports.formats.legacy.plain import DATABASE, MODELS, SETTINGS
from tests.orchestrator.imports.documents import json_document, read
from tests.orchestrator.imports.formats.legacy import samples


def test_a_list_of_models() -> None:
    assert read(MODELS, json_document(samples.MODELS)).nothing == "a list of models"
    assert not MODELS.recognises(json_document({**samples.MODELS, "t5": "small"}))


def test_settings_of_a_run() -> None:
    assert read(SETTINGS, json_document(samples.SETTINGS)).nothing == "settings of a run"
    with_models = {"hardware_types": ["cpu"], "batch_sizes": "1,2", "models": samples.MODELS}
    assert read(SETTINGS, json_document(with_models)).nothing == "settings of a run"


def test_a_description_of_a_database() -> None:
    assert read(DATABASE, json_document(samples.DATABASE)).nothing == "a description of a database"
