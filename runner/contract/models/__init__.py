"""The catalogue of models: pure data, and lookup by name."""

from runner.contract.models.catalogue import (
    AxisRange,
    Family,
    Modality,
    ModelSpec,
    TensorSpec,
    catalogue,
    find,
    model_sets,
)
from runner.contract.models.sizes import prompt_length, refusal, shape_of, sizes_of
from runner.contract.models.work import IterationWork, PassWork, Work, iteration_work, work

__all__ = [
    "AxisRange",
    "Family",
    "IterationWork",
    "Modality",
    "ModelSpec",
    "PassWork",
    "TensorSpec",
    "Work",
    "catalogue",
    "find",
    "iteration_work",
    "model_sets",
    "prompt_length",
    "refusal",
    "shape_of",
    "sizes_of",
    "work",
]
