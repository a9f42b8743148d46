"""Turns a model's input spec, a cell's sizes and a seed into arrays, with numpy alone."""

from runner.inputs.synthesis import (
    LABELS,
    Inputs,
    synthesise,
    synthesise_labels,
    tokens_to_generate,
)

__all__ = ["LABELS", "Inputs", "synthesise", "synthesise_labels", "tokens_to_generate"]
