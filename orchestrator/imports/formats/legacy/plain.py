"""Files that hold no measurement."""

from typing import Any

from orchestrator.imports.formats.legacy.shape import Shape, has_map, is_map
from orchestrator.imports.reading import Reading

_OF_A_MODEL = ("family", "modality", "size", "class")


def _is_models(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(
            is_map(item, "name") and any(key in item for key in _OF_A_MODEL)
            for item in value.values()
        )
    )


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
DATABASE = Shape(
    "legacy-database", _is_database, lambda _: Reading(nothing="a description of a database")
)
