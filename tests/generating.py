"""Jobs that generate over prepared graphs, of the shape that verification has as well."""

from typing import Any

from runner.cell import Job, Runtime
from runner.fixed_input import BATCH_SIZE, SEQUENCE_LENGTH
from runner.models import ModelSpec
from tests.tiny_models import torch_job

NEW_TOKENS = 6


def generating_job(model: ModelSpec, runtime: Runtime = "onnxruntime", **changes: Any) -> Job:
    """A job of one such cell on the CPU; all these jobs of a model share their graph."""
    backend = "openvino" if runtime == "openvino" else "cpu"
    values: dict[str, Any] = {
        "backend": backend,
        "runtime": runtime,
        "mode": "generation",
        "batch_size": BATCH_SIZE,
        "sequence_length": SEQUENCE_LENGTH if model.takes_sequence else None,
        "image_size": None if model.image_size is None else model.image_size.default,
        "new_tokens": NEW_TOKENS,
    }
    return torch_job(model, **values | changes)
