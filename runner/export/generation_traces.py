"""What the two parts of a generating graph are traced with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from transformers.exporters.exporter_dynamo import get_auto_dynamic_shapes
from transformers.modeling_outputs import BaseModelOutput

from runner.backends.graph_generation_feeds import (
    LOGITS_TO_KEEP,
    MASK,
    POSITIONS,
    forward_inputs,
    next_position,
    position_ids,
    token_input,
)
from runner.errors import Unsupported
from runner.export.geometry import IMAGE_SIZES, FixedGeometry, as_numbers
from runner.inputs import Inputs
from runner.models import ModelSpec

AUTO = torch.export.Dim.AUTO
CACHE = "past_key_values"
ENCODED = "encoder_outputs"
BATCH_AND_LENGTH = (0, 2)
"""The dimensions of a cache that vary: [batch, heads, length, features]."""


@dataclass(frozen=True)
class Trace:
    """A module, what to call it with, and which dimensions of that may vary."""

    module: torch.nn.Module
    arguments: dict[str, Any]
    shapes: dict[str, Any]


def traced_inputs(spec: ModelSpec, inputs: Inputs) -> Inputs:
    """The arguments with which the model fills a cache.

    A decoder's mask is left out, as transformers' own generation leaves it out of prompts without
    padding, and the logits are asked for at some places of the prompt: those of its last place are
    all that generation needs, and a large vocabulary makes the others dear.
    """
    if spec.encoder_decoder:
        return inputs
    given = forward_inputs(spec, inputs)
    given[LOGITS_TO_KEEP] = given[LOGITS_TO_KEEP][1:]
    unwanted = {MASK, POSITIONS} if spec.image_prompt == "grid" else {MASK}
    return {name: array for name, array in given.items() if name not in unwanted}


def prefill_trace(
    spec: ModelSpec,
    module: torch.nn.Module,
    tensors: Mapping[str, torch.Tensor],
    shapes: Mapping[str, Any] | None,
) -> Trace:
    """The whole model, with a cache among what it gives; without shapes every size is fixed.

    Two may vary all the same: for how many places logits are wanted, and how many tokens go into a
    decoder behind an encoder, of which generation begins with one.

    Raises:
        Unsupported: sizes of images shall vary.
    """
    arguments: dict[str, Any] = dict(tensors)
    if IMAGE_SIZES in arguments:
        if shapes is not None:
            raise Unsupported(
                "the exporter makes constants of the images' sizes, one for each sample, "
                "so neither they nor the batch can vary"
            )
        arguments[IMAGE_SIZES] = as_numbers(tensors[IMAGE_SIZES])
    fixed = {name: torch.utils._pytree.tree_map(_fixed, arguments[name]) for name in arguments}
    varying = {**fixed, **(shapes or {})}
    if spec.encoder_decoder:
        varying[token_input(spec)] = {**(varying[token_input(spec)] or {}), 1: AUTO}
    else:
        varying[LOGITS_TO_KEEP] = {0: AUTO}
    return Trace(module, {**arguments, "use_cache": True}, varying)


def decode_trace(spec: ModelSpec, prefill: Trace, inputs: Inputs) -> Trace:
    """One more token after the cache that the other part gives, whatever its batch and length."""
    with torch.no_grad():
        filled = prefill.module(**prefill.arguments)
    cache = filled.past_key_values
    tokens = prefill.arguments[token_input(spec)][:, :1]
    arguments: dict[str, Any] = {token_input(spec): tokens, CACHE: cache}
    shapes: dict[str, Any] = {token_input(spec): {0: AUTO}, CACHE: _cache_shapes(cache)}
    if spec.encoder_decoder:
        state = BaseModelOutput(last_hidden_state=filled.encoder_last_hidden_state)
        arguments[ENCODED], shapes[ENCODED] = state, [{0: AUTO, 1: AUTO}]
        if MASK in prefill.arguments:
            arguments[MASK], shapes[MASK] = prefill.arguments[MASK], {0: AUTO, 1: AUTO}
    else:
        positions = position_ids(spec, inputs)
        arguments[POSITIONS] = torch.from_numpy(next_position(positions))
        shapes[POSITIONS] = {positions.ndim - 2: AUTO}
    return Trace(_bare(prefill.module), {**arguments, "use_cache": True}, shapes)


def _bare(module: torch.nn.Module) -> torch.nn.Module:
    return module.model if isinstance(module, FixedGeometry) else module


def _cache_shapes(cache: Any) -> list[dict[int, Any]]:
    return [dict.fromkeys(BATCH_AND_LENGTH, AUTO) for _ in get_auto_dynamic_shapes(cache)]


def _fixed(_: object) -> None:
    """No dimension varies."""
