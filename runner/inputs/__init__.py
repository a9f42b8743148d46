"""Synthetic inputs and labels of a model, drawn with numpy from its spec, sizes and a seed."""

from runner.inputs.padding import MASK, calibration_queries, padded
from runner.inputs.synthesis import (
    LABELS,
    Inputs,
    synthesise,
    synthesise_labels,
    tokens_to_generate,
)

__all__ = [
    "LABELS",
    "MASK",
    "Inputs",
    "calibration_queries",
    "padded",
    "synthesise",
    "synthesise_labels",
    "tokens_to_generate",
]
