"""PassCounts of a model's passes at one shape: a forward pass, and the parts of a generation."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from runner.backends.graphs.feeds import (
    LOGITS_TO_KEEP,
    POSITIONS,
    next_position,
    position_ids,
    token_input,
)
from runner.contract.cell import Cell
from runner.contract.models import ModelSpec
from runner.counting.counter import META, WorkCounter, tensors_in
from runner.inputs import Inputs, synthesise

PassCounts = dict[str, int]
"""Numbers of one shape, by the names that `runner.contract.models.work` explains."""


@torch.no_grad()
def count_forward(spec: ModelSpec, model: Any, cell: Cell) -> PassCounts:
    """The work of a forward pass over one query."""
    inputs = _without_data(synthesise(spec, cell, 0))
    with WorkCounter(model) as counter:
        outputs = model(**inputs, **spec.forward)
    return {
        "macs": counter.macs,
        "activations": counter.activations,
        "outputs": sum(t.numel() for t in tensors_in(outputs) if t.is_floating_point()),
        "weights": counter.weights,
    }


@torch.no_grad()
def count_generation(spec: ModelSpec, model: Any, cell: Cell) -> PassCounts:
    """The work of filling a cache, of the first step after it, and how both grow with a step.

    As transformers' own `generate` calls the model: logits of the last position alone.
    """
    arrays = synthesise(spec, cell, 0)
    inputs, name = _without_data(arrays), token_input(spec)
    arguments = inspect.signature(model.forward).parameters
    prompt = {**inputs, "use_cache": True}
    if spec.encoder_decoder:
        prompt[name] = inputs[name][:, :1]
    elif LOGITS_TO_KEEP in arguments:
        prompt[LOGITS_TO_KEEP] = 1
    with WorkCounter(model) as prefill:
        filled = model(**prompt)
    more: dict[str, Any] = {name: inputs[name][:, :1], "use_cache": True}
    if spec.encoder_decoder:
        more["encoder_outputs"] = BaseModelOutput(
            last_hidden_state=filled.encoder_last_hidden_state
        )
    elif POSITIONS in arguments:
        more[POSITIONS] = torch.from_numpy(next_position(position_ids(spec, arrays)))
    steps, elements = [], [_cached(filled.past_key_values)]
    for _ in range(2):
        with WorkCounter(model) as step:
            filled = model(**more, past_key_values=filled.past_key_values)
        steps.append(step)
        elements.append(_cached(filled.past_key_values))
    return {
        "prefill_macs": prefill.macs,
        "prefill_weights": prefill.weights,
        "step_macs": steps[0].macs,
        "step_weights": steps[0].weights,
        "step_growth": steps[1].macs - steps[0].macs,
        "cache": elements[0],
        "cache_growth": elements[1] - elements[0],
    }


def _without_data(arrays: Inputs) -> Mapping[str, torch.Tensor]:
    """The inputs; those that are whole numbers keep their data, since shapes may follow from it."""
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return {n: t.to(META) if t.is_floating_point() else t for n, t in tensors.items()}


def _cached(cache: Any) -> int:
    """Elements of all keys and values; behind an encoder also those of its output."""
    if isinstance(cache, EncoderDecoderCache):
        return _cached(cache.self_attention_cache) + _cached(cache.cross_attention_cache)
    return sum(layer.keys.numel() + layer.values.numel() for layer in cache.layers)
