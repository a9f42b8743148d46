"""Write the list of architectures that transformers has: `python -m tools.model_types`."""

import json
from pathlib import Path

import transformers

import orchestrator.matrix
from orchestrator.matrix.unknown_models import TYPES_FILE

FILE = Path(orchestrator.matrix.__file__).parent / TYPES_FILE


def types_text() -> str:
    """The text of the list, for the transformers that is installed."""
    types = sorted(transformers.CONFIG_MAPPING.keys())
    return json.dumps({"transformers": transformers.__version__, "model_types": types}, indent=0)


if __name__ == "__main__":
    FILE.write_text(types_text() + "\n", "utf-8")
