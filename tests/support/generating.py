"""Jobs that generate over prepared graphs, of the shape that verification has as well."""

from typing import Any

from runner.contract.cell import Runtime
from runner.contract.job import Job
from runner.contract.models import ModelSpec
from runner.correctness.reference import BATCH_SIZE, SEQUENCE_LENGTH
from tests.support.tiny_models import torch_job

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
