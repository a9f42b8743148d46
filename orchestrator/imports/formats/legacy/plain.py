"""Files that hold no measurement."""

from typing import Any

from orchestrator.imports.formats.legacy.metrics import has_metric
from orchestrator.imports.formats.legacy.shape import Shape, has_map, is_map, without_remarks
from orchestrator.imports.reading import Reading

_OF_A_MODEL = ("family", "modality", "size", "class")
_SUMMARISED = ("inference", "training", "hardware_compatibility")


def _is_models(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    models = without_remarks(value)
    return bool(models) and all(map(_is_model, models.values()))


def _is_model(item: Any) -> bool:
    return is_map(item, "name") and any(key in item for key in _OF_A_MODEL) and not has_metric(item)


def _is_empty_summary(value: Any) -> bool:
    return has_map(value, *_SUMMARISED) and not any(value[key] for key in _SUMMARISED)


def _is_settings(value: Any) -> bool:
    return (
        is_map(value, "hardware_types", "batch_sizes")
        and isinstance(value["batch_sizes"], list | str)
        and (is_map(value, "model_families") or is_map(value, "models"))
        and "results" not in value
    )


def _is_database(value: Any) -> bool:
    return is_map(value, "schema_version") and has_map(value, "schema")


MODELS = Shape("legacy-models", _is_models, lambda _: Reading(nothing="a list of models"))
SETTINGS = Shape("legacy-settings", _is_settings, lambda _: Reading(nothing="settings of a run"))
EMPTY_SUMMARY = Shape(
    "legacy-summary",
    _is_empty_summary,
    lambda _: Reading(nothing="a summary of benchmarks without a result"),
)
DATABASE = Shape(
    "legacy-database", _is_database, lambda _: Reading(nothing="a description of a database")
)
