"""The catalogue of models: pure data, and lookup by name."""

from runner.models.catalogue import catalogue, find, model_sets
from runner.models.counts import Work, work
from runner.models.sizes import prompt_length, refusal, shape_of, sizes_of
from runner.models.spec import AxisRange, Family, Modality, ModelSpec
from runner.models.tensor import TensorSpec

__all__ = [
    "AxisRange",
    "Family",
    "Modality",
    "ModelSpec",
    "TensorSpec",
    "Work",
    "catalogue",
    "find",
    "model_sets",
    "prompt_length",
    "refusal",
    "shape_of",
    "sizes_of",
    "work",
]
