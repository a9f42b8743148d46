"""Faults that a runtime could have, put into a model of torch: each must turn `correct` false."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.nn import functional

from performance.sabotage import attention, layers, parts
from performance.sabotage.attention import Fault, Model, hooked
from performance.sabotage.layers import hooked_outputs, last_layer
from performance.sabotage.parts import (
    Inapplicable,
    activations,
    biases,
    feed_forward,
    frequencies,
    half_bits,
    norms,
    patch_embeddings,
    position_tables,
    rotary_embeddings,
    to_integers,
    token_types,
)
from runner.contract.axes import Precision

_MASKS = ("attention_mask", "pixel_mask")
_OTHER_BASE = 1.5
"""The power that makes the frequencies of base 1e4 those of 1e6."""
_EPSILONS = ("eps", "variance_epsilon", "epsilon")


@dataclass(frozen=True)
class Sabotage:
    """A fault."""

    name: str
    """What is wrong."""
    fault: Fault
    """The context in which a model has it; raises `Inapplicable` for models that cannot."""
    in_weights: bool = False
    """True if it changes weights, and so comes before they are quantised."""
    in_steps: bool = False
    """True if it shows in decode steps alone."""


def _other_activation(given: Any, outputs: Any) -> Any:
    rectified = functional.relu(given)
    return functional.gelu(given) if torch.equal(rectified, outputs) else rectified


def _outputs(change: Callable[[torch.Tensor], torch.Tensor]) -> Fault:
    """Change each output, whose first axis holds the samples."""

    def changed(_: Any, outputs: Any) -> Any:
        for name, value in outputs.items():
            if isinstance(value, torch.Tensor) and value.ndim and value.is_floating_point():
                outputs[name] = change(value)
        return outputs

    return hooked_outputs(lambda model: [model], changed)


def _zeros(_: Any, outputs: Any) -> Any:
    return torch.zeros_like(outputs)


def _without_rotation(_: Any, outputs: Any) -> Any:
    cosines, sines = outputs
    return torch.ones_like(cosines), torch.zeros_like(sines)


def _moved_patches(_: Any, outputs: Any) -> Any:
    return outputs.roll(1, -1) if outputs.shape[-1] > 1 else outputs.roll(1, 0)


def _edited(
    find: Callable[[Model], list[Any]], change: Callable[[torch.Tensor], torch.Tensor]
) -> Fault:
    """Change parameters, and put them back."""

    @contextmanager
    def fault(model: Model) -> Iterator[None]:
        before = [(parameter, parameter.data.clone()) for parameter in find(model)]
        if not before:
            raise Inapplicable
        for parameter, value in before:
            parameter.data.copy_(change(value))
        try:
            yield
        finally:
            for parameter, value in before:
                parameter.data.copy_(value)

    return fault


def _epsilons(value: float) -> Fault:
    """All norms divide by the root of the variance plus this."""

    def fault(model: Model) -> AbstractContextManager[None]:
        places = [
            (norm, name) for norm in norms(model) for name in _EPSILONS if hasattr(norm, name)
        ]
        return _with_attributes(places, value)

    return fault


@contextmanager
def _with_attributes(places: list[tuple[Any, str]], value: float) -> Iterator[None]:
    if not places:
        raise Inapplicable
    before = [getattr(*place) for place in places]
    for place in places:
        setattr(*place, value)
    try:
        yield
    finally:
        for place, earlier in zip(places, before, strict=True):
            setattr(*place, earlier)


@contextmanager
def _later_steps(model: Model) -> Iterator[None]:
    """Decode steps stand a position later than they should."""
    tables = position_tables(model)

    def turned(_: Any, arguments: Any, named: dict[str, Any]) -> Any:
        positions = filter(_are_positions, (*arguments, *named.values()))
        if any(value.shape[-1] > 1 for value in positions):
            return None
        later = {n: v + 1 if _are_positions(v) else v for n, v in named.items()}
        return tuple(v + 1 if _are_positions(v) else v for v in arguments), later

    def moved(_: Any, arguments: Any, named: dict[str, Any]) -> None:
        del arguments
        for table, rows in zip(tables, originals, strict=True):
            table.data.copy_(rows.roll(-1, -2) if _is_step(named) else rows)

    originals = [table.data.clone() for table in tables]
    rotary = [
        part.register_forward_pre_hook(turned, with_kwargs=True)
        for part in rotary_embeddings(model)
    ]
    whole = [model.register_forward_pre_hook(moved, with_kwargs=True)] if tables else []
    try:
        with hooked([*rotary, *whole]):
            yield
    finally:
        for table, rows in zip(tables, originals, strict=True):
            table.data.copy_(rows)


def _is_step(named: dict[str, Any]) -> bool:
    tokens = named.get("decoder_input_ids", named.get("input_ids"))
    return tokens is not None and tokens.shape[-1] == 1


def _are_positions(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not value.is_floating_point()


@contextmanager
def _late_logits(model: Model) -> Iterator[None]:
    """Each decode step gives the logits of the step before."""
    before: list[torch.Tensor] = []

    def hook(_: Any, arguments: Any, named: dict[str, Any], outputs: Any) -> Any:
        del arguments
        latest = outputs.logits[:, -1:].clone()
        if before and _is_step(named):
            outputs.logits = before[0]
        before[:] = [latest]
        return outputs

    with hooked([model.register_forward_hook(hook, with_kwargs=True)]):
        yield


def _forgotten(model: Model) -> AbstractContextManager[None]:
    """Of an encoder with a decoder the prompt is a single token."""
    if model.config.is_encoder_decoder:
        raise Inapplicable
    return attention.changed_cache(attention.forgotten_token)(model)


def _modules(model: Model) -> list[Any]:
    return [part for part in model.modules() if not any(part.children())]


def _in_bf16(_: Any, outputs: Any) -> Any:
    if isinstance(outputs, torch.Tensor) and outputs.is_floating_point():
        return outputs.to(torch.bfloat16).to(outputs.dtype)
    return outputs


def _bias_of(index: int | str) -> Callable[[Model], list[Any]]:
    def find(model: Model) -> list[Any]:
        biased = [norm.bias for norm in norms(model) if getattr(norm, "bias", None) is not None]
        place = len(biased) // 2 if isinstance(index, str) else index
        return [biased[place]] if biased else []

    return find


def _matrices(part: Any) -> list[Any]:
    return [value for value in part.parameters() if value.ndim > 1]


_FAULTS: Mapping[str, Fault] = {
    "attention zero in all layers": attention.changed_heads(attention.no_heads),
    "attention zero in the first layer": attention.changed_heads(attention.no_heads, slice(1)),
    "attention zero in the last layer": attention.changed_heads(
        attention.no_heads, slice(-1, None)
    ),
    "cross-attention zero": attention.changed_heads(attention.no_heads, kind="cross"),
    "half of the heads zero": attention.changed_heads(attention.half_of_heads),
    "one head zero": attention.changed_heads(attention.one_head_less, slice(1)),
    "key and value heads swapped": attention.swapped_heads,
    "scores not scaled": attention.scaled_scores(lambda size: size**0.5),
    "scores too large by the root of 2": attention.scaled_scores(lambda _: 2**0.5),
    "shared heads repeated in the wrong order": layers.tiled_heads,
    "causal mask dropped": attention.attended(attention.later_tokens_seen),
    "padding mask dropped": attention.padding_seen(_MASKS),
    "last layer skipped": hooked_outputs(last_layer, layers.skipped),
    "residual of the last layer lost": hooked_outputs(last_layer, layers.without_residual),
    "last two layers swapped": layers.swapped_layers,
    "feed-forward of the first layer zero": hooked_outputs(partial(feed_forward, place=0), _zeros),
    "feed-forward of the last layer zero": hooked_outputs(partial(feed_forward, place=-1), _zeros),
    "dropout left on": layers.in_training(torch.nn.Dropout),
    "batch norms by the batch": layers.in_training(torch.nn.modules.batchnorm._BatchNorm),
    "activation swapped": hooked_outputs(activations, _other_activation),
    "samples swapped": _outputs(lambda value: value.roll(1, 0)),
    "first sample for all": _outputs(lambda value: value[:1].expand_as(value).contiguous()),
    "outputs 2 % too large": _outputs(lambda value: value * 1.02),
    "patches moved by one": hooked_outputs(patch_embeddings, _moved_patches),
    "positions of the last layer moved": hooked_outputs(last_layer, layers.moved_positions),
    "windows moved by one": hooked_outputs(layers.convolutions, layers.moved_windows),
    "rotary positions lost": hooked_outputs(rotary_embeddings, _without_rotation),
    "rotary base wrong": _edited(frequencies, lambda own: own**_OTHER_BASE),
    "epsilon of the norms 1": _epsilons(1.0),
    "positions shifted by one": _edited(position_tables, lambda table: table.roll(1, -2)),
    "token types lost": _edited(token_types, torch.zeros_like),
    "bias of the first norm lost": _edited(_bias_of(0), torch.zeros_like),
    "bias of the middle norm lost": _edited(_bias_of("middle"), torch.zeros_like),
    "bias of the last norm lost": _edited(_bias_of(-1), torch.zeros_like),
    "weight of the first norm lost": _edited(lambda m: [norms(m)[0].weight], torch.ones_like),
}
_IN_WEIGHTS: Mapping[str, Fault] = {
    "biases of all linear layers lost": _edited(biases, torch.zeros_like),
    "head untied from the embedding": layers.untied_head,
}
_IN_STEPS: Mapping[str, Fault] = {
    "cache not updated": attention.changed_cache(attention.frozen_cache),
    "cache of the other sample": attention.changed_cache(attention.swapped_cache),
    "cache without the last token": _forgotten,
    "second likeliest tokens chosen": layers.unlikely_tokens,
    "decode steps a position later": _later_steps,
    "logits of the step before": _late_logits,
}


def sabotages(precision: Precision) -> Iterator[Sabotage]:
    """All of them; "half the bits" depends on the precision."""
    yield from (Sabotage(name, fault) for name, fault in _FAULTS.items())
    if precision in {"fp32", "fp16"}:
        yield Sabotage("computed in bf16", hooked_outputs(_modules, _in_bf16))
    if precision == "fp32":
        yield Sabotage("epsilon of the norms 1e-3", _epsilons(1e-3))
    fewer, to_int8 = half_bits(precision), partial(to_integers, largest=127)
    rounded = {
        "weights at half the bits": _edited(_matrices, fewer),
        "one layer's weights at half the bits": _edited(
            lambda m: _matrices(parts.layers(m)[-1]), fewer
        ),
    }
    if precision in {"bf16", "fp16"}:
        rounded["weights at 8 bits"] = _edited(_matrices, to_int8)
    for name, fault in (rounded | _IN_WEIGHTS).items():
        yield Sabotage(name, fault, in_weights=True)
    yield from (Sabotage(name, fault, in_steps=True) for name, fault in _IN_STEPS.items())
