"""Export a generating model as two ONNX files that share their weights."""

from collections.abc import Callable, Mapping
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
    NEXT_TOKENS,
    POSITIONS,
    forward_inputs,
    next_position,
    position_ids,
    token_input,
)
from runner.backends.graphs.generation import PRESENT
from runner.contract.errors import Unsupported
from runner.contract.graph import PART_WEIGHTS_SUFFIX, Part
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason
from runner.export.check import generation_difference
from runner.export.graphs import GraphExport
from runner.export.onnx_files import keep_outputs, save_sharing
from runner.export.torch_exporters import (
    IMAGE_SIZES,
    ExportSubject,
    FixedGeometry,
    Strategy,
    as_numbers,
    build_model,
    trace_model,
    varying_dimensions,
    whole_strategies,
)
from runner.inputs import MASK, Inputs

_AUTO = torch.export.Dim.AUTO
_CACHE = "past_key_values"
_ENCODED = "encoder_outputs"
_BATCH_AND_LENGTH = (0, 2)
"""The dimensions of a cache that vary: [batch, heads, length, features]."""
_FILES: dict[Part, str] = {"prefill": "prefill.onnx", "decode": "decode.onnx"}
"""The parts; `prefill` fills a cache, `decode` extends it by one token."""
_CROSS = "cross_attention_cache"
"""The part of a cache that depends on the encoder alone: no step changes it."""


@dataclass(frozen=True)
class ModelCall:
    """A module, the arguments of its call, and the dimensions that may vary."""

    module: torch.nn.Module
    arguments: dict[str, Any]
    shapes: dict[str, Any]


def traced_inputs(spec: ModelSpec, inputs: Inputs) -> Inputs:
    """The arguments with which the model fills a cache: a decoder gets no mask, as in transformers'
    own generation, and gives logits at some positions alone, since a vocabulary is large.
    """
    if spec.encoder_decoder:
        return inputs
    given = forward_inputs(spec, inputs)
    given[LOGITS_TO_KEEP] = given[LOGITS_TO_KEEP][1:]
    unwanted = {MASK, POSITIONS} if spec.image_prompt == "grid" else {MASK}
    return {name: array for name, array in given.items() if name not in unwanted}


def prefill_call(
    spec: ModelSpec,
    module: torch.nn.Module,
    tensors: Mapping[str, torch.Tensor],
    shapes: Mapping[str, Any] | None,
) -> ModelCall:
    """The call that fills a cache; without shapes sizes are fixed, but for those of generation."""
    arguments: dict[str, Any] = dict(tensors)
    if IMAGE_SIZES in arguments:
        if shapes is not None:
            raise Unsupported(reason("image_sizes_constant"))
        arguments[IMAGE_SIZES] = as_numbers(tensors[IMAGE_SIZES])
    tree_map = torch.utils._pytree.tree_map
    fixed = {name: tree_map(lambda _: None, value) for name, value in arguments.items()}
    dimensions = {**fixed, **(shapes or {})}
    if spec.encoder_decoder:
        dimensions[token_input(spec)] = {**(dimensions[token_input(spec)] or {}), 1: _AUTO}
    else:
        dimensions[LOGITS_TO_KEEP] = {0: _AUTO}
    return ModelCall(module, {**arguments, "use_cache": True}, dimensions)


def decode_call(spec: ModelSpec, prefill: ModelCall, inputs: Inputs) -> ModelCall:
    with torch.no_grad():
        filled = prefill.module(**prefill.arguments)
    cache = filled.past_key_values
    tokens = prefill.arguments[token_input(spec)][:, :1]
    arguments: dict[str, Any] = {token_input(spec): tokens, _CACHE: cache}
    varying = [dict.fromkeys(_BATCH_AND_LENGTH, _AUTO) for _ in get_auto_dynamic_shapes(cache)]
    shapes: dict[str, Any] = {token_input(spec): {0: _AUTO}, _CACHE: varying}
    if spec.encoder_decoder:
        state = BaseModelOutput(last_hidden_state=filled.encoder_last_hidden_state)
        arguments[_ENCODED], shapes[_ENCODED] = state, [{0: _AUTO, 1: _AUTO}]
        if MASK in prefill.arguments:
            arguments[MASK], shapes[MASK] = prefill.arguments[MASK], {0: _AUTO, 1: _AUTO}
    else:
        positions = position_ids(spec, inputs)
        arguments[POSITIONS] = torch.from_numpy(next_position(positions))
        shapes[POSITIONS] = {positions.ndim - 2: _AUTO}
    module = prefill.module
    bare = module.model if isinstance(module, FixedGeometry) else module
    return ModelCall(bare, {**arguments, "use_cache": True}, shapes)


def _write(subject: ExportSubject, strategy: Strategy, folder: Path) -> dict[Part, Path]:
    """Write both parts; their weights lie beside the first.

    The second, of any batch and length, takes the first one's cache under names with `input.`, and
    gives the longer cache under names with `output.`.
    """
    if strategy.script:
        raise Unsupported(reason("torchscript_no_cache"))
    spec = subject.model
    inputs, others = (traced_inputs(spec, given) for given in (subject.inputs, subject.others))
    module, tensors = build_model(replace(subject, inputs=inputs), strategy)
    shapes = varying_dimensions(tensors, others) if strategy.dynamic else None
    prefill = prefill_call(spec, module, tensors, shapes)
    decode = decode_call(spec, prefill, subject.inputs)
    files = {part: folder / name for part, name in _FILES.items()}

    def is_filled(name: str) -> bool:
        return name in subject.outputs or name.startswith(_CACHE)

    def is_extended(name: str) -> bool:  # a step changes it
        return name == LOGITS or (name.startswith(PRESENT) and _CROSS not in name)

    models = {
        files["prefill"]: _export(prefill, is_filled),
        files["decode"]: _export(decode, is_extended),
    }
    save_sharing(models, folder / f"{_FILES['prefill']}{PART_WEIGHTS_SUFFIX}")
    return files


def _export(call: ModelCall, wanted: Callable[[str], bool]) -> onnx_ir.Model:
    model = trace_model(call.module, call.arguments, call.shapes)
    names = [value.name or "" for value in model.graph.outputs]
    keep_outputs(model, filter(wanted, names))
    add_next_tokens(model)
    return model


def add_next_tokens(model: onnx_ir.Model) -> None:
    """Add the most likely tokens to the outputs, by `ArgMax` over the logits, if there are any."""
    for logits in [value for value in model.graph.outputs if value.name == LOGITS]:
        shape = None if logits.shape is None else onnx_ir.Shape(logits.shape[:-1])
        kind = onnx_ir.TensorType(onnx_ir.DataType.INT64)
        tokens = onnx_ir.Value(name=NEXT_TOKENS, shape=shape, type=kind)
        last = {"axis": -1, "keepdims": 0}
        node = onnx_ir.node("ArgMax", [logits], last, outputs=[tokens], name=NEXT_TOKENS)
        model.graph.append(node)
        model.graph.outputs.append(tokens)


EXPORT = GraphExport(whole_strategies, _write, generation_difference)
