"""The JSON schema of a matrix file, from which editors complete and check it."""

import re
from typing import Any

from orchestrator.matrix.names import FILES
from orchestrator.matrix.shape import MatrixFile
from runner.models import catalogue, model_sets


def matrix_json_schema() -> dict[str, Any]:
    """The schema that `docs/matrix.schema.json` holds."""
    schema = MatrixFile.model_json_schema()
    known = {"type": "string", "enum": [*catalogue(), *model_sets()]}
    endings = "|".join(re.escape(ending) for ending in FILES)
    file = {"type": "string", "pattern": f"({endings})$"}
    axis = schema["$defs"]["Axes"]["properties"]["model"]
    listed = axis["anyOf"][-1] | {"items": {"anyOf": [known, file]}}
    axis["anyOf"] = [known, file, listed]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_without_titles(schema)}


def _without_titles(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_titles(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_titles(item)
        for key, item in value.items()
        if not (key == "title" and isinstance(item, str))
    }
