"""Exports a generating model as two ONNX files that share their weights."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx_ir
import torch
from transformers.exporters.exporter_dynamo import get_auto_dynamic_shapes
from transformers.modeling_outputs import BaseModelOutput

from runner.backends.graphs.feeds import (
    LOGITS,
    LOGITS_TO_KEEP,
    MASK,
    POSITIONS,
    forward_inputs,
    next_position,
    position_ids,
    token_input,
)
from runner.backends.graphs.generation import AFTER
from runner.contract.errors import Unsupported
from runner.contract.graph import WEIGHTS_SUFFIX, Part
from runner.contract.models import ModelSpec
from runner.export.check import generation_difference
from runner.export.export_once import Export
from runner.export.model_patches import IMAGE_SIZES, FixedGeometry, as_numbers
from runner.export.onnx_files import prune, save_sharing
from runner.export.strategies import Remedy, whole
from runner.export.torch_exporters import Subject, built, traced, varying
from runner.inputs import Inputs

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


FILES: dict[Part, str] = {"prefill": "prefill.onnx", "decode": "decode.onnx"}
"""The parts; `prefill` fills a cache, `decode` extends it by one token."""
CROSS = "cross_attention_cache"
"""The part of a cache that depends on the encoder alone: no step changes it."""


def _write(subject: Subject, remedy: Remedy, folder: Path) -> dict[Part, Path]:
    """Write both parts; their weights lie beside the first.

    The first takes a prompt and gives, beside the model's own outputs, a cache under their dotted
    paths; the second takes a token and a cache whose names begin with `input.`, and gives logits
    and the longer cache, whose names begin with `output.`. It takes any batch and length.

    Raises:
        Unsupported: the remedy's exporter writes no caches.
        Exception: whatever the exporter raises.
    """
    if remedy.script:
        raise Unsupported("the TorchScript exporter writes no graphs that take caches")
    spec = subject.model
    inputs, others = (traced_inputs(spec, given) for given in (subject.inputs, subject.others))
    module, tensors = built(replace(subject, inputs=inputs), remedy)
    shapes = varying(tensors, others) if remedy.dynamic else None
    prefill = prefill_trace(spec, module, tensors, shapes)
    decode = decode_trace(spec, prefill, subject.inputs)
    files = {part: folder / name for part, name in FILES.items()}
    models = {
        files["prefill"]: _kept(prefill, lambda name: _fills(name, subject.outputs)),
        files["decode"]: _kept(decode, _extends),
    }
    save_sharing(models, folder / f"{FILES['prefill']}{WEIGHTS_SUFFIX}")
    return files


def _kept(trace: Trace, wanted: Callable[[str], bool]) -> onnx_ir.Model:
    """The graph without other outputs, and what leads to none."""
    model = traced(trace.module, trace.arguments, trace.shapes)
    names = [value.name or "" for value in model.graph.outputs]
    prune(model, filter(wanted, names))
    return model


def _fills(name: str, outputs: Container[str]) -> bool:
    """Whether it is one of the model's outputs, or a cache."""
    return name in outputs or name.startswith(CACHE)


def _extends(name: str) -> bool:
    """Whether a step gives anything new under that name."""
    return name == LOGITS or (name.startswith(AFTER) and CROSS not in name)


EXPORT = Export(whole, _write, generation_difference)
