"""Architectures that transformers has, by their `model_type`, as of the version that images pin.

The list is data, since the host that plans need not have transformers installed.
`python -m tools.model_types` writes it.
"""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from orchestrator.matrix.signatures import Config
from orchestrator.system.problems import quote
from runner.contract.errors import suggest

TYPES_FILE = "model_types.json"


@cache
def model_types() -> tuple[str, Sequence[str]]:
    """The version of transformers, and the types of models that it builds."""
    data = json.loads((files("orchestrator.matrix") / TYPES_FILE).read_text("utf-8"))
    return data["transformers"], data["model_types"]


def unknown_type(config: Config) -> str | None:
    """The fault of a configuration whose type of model transformers doesn't build, or None."""
    version, known = model_types()
    kind = config.get("model_type")
    if not isinstance(kind, str):
        return "names no model_type"
    if kind in known:
        return None
    near = suggest(kind, known)
    return f"names model_type {quote(kind)}, which transformers {version} doesn't have{near}"
