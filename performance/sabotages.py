"""Faults that a runtime could have, put into a model of torch: each must turn `correct` false."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
from torch.nn import functional
from transformers.cache_utils import DynamicLayer

from performance.broken_parts import (
    Inapplicable,
    activations,
    half_bits,
    layers,
    norms,
    patch_embeddings,
    position_tables,
    projections,
    rotary_embeddings,
)
from runner.contract.cell import Precision

Model = Any
Fault = Callable[[Model], AbstractContextManager[None]]


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


@contextmanager
def _hooked(handles: Sequence[Any]) -> Iterator[None]:
    if not handles:
        raise Inapplicable
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _heads(
    change: Callable[[torch.Tensor, int], torch.Tensor], which: slice = slice(None), kind: str = ""
) -> Fault:
    """Change the concatenated heads that go into the output projections."""

    def fault(model: Model) -> AbstractContextManager[None]:
        def hook(count: int) -> Any:
            return lambda _, arguments: (change(arguments[0], count), *arguments[1:])

        chosen = list(projections(model, kind))[which]
        handles = [layer.register_forward_pre_hook(hook(count)) for layer, count in chosen]
        return _hooked(handles)

    return fault


def _no_heads(heads: torch.Tensor, count: int) -> torch.Tensor:
    del count
    return torch.zeros_like(heads)


def _half_of_heads(heads: torch.Tensor, count: int) -> torch.Tensor:
    size = heads.shape[-1] // count
    kept = heads.clone()
    kept[..., -max(1, count // 2) * size :] = 0
    return kept


def _one_head_less(heads: torch.Tensor, count: int) -> torch.Tensor:
    kept = heads.clone()
    kept[..., : heads.shape[-1] // count] = 0
    return kept


def _outputs(find: Callable[[Model], list[Any]], change: Callable[[Any, Any], Any]) -> Fault:
    """Change the outputs of modules; the function gets inputs and outputs."""

    def fault(model: Model) -> AbstractContextManager[None]:
        def hook(_: Any, arguments: Any, named: Any, outputs: Any) -> Any:
            given = arguments[0] if arguments else named.get("hidden_states")
            return change(given, outputs)

        found = find(model)
        return _hooked([part.register_forward_hook(hook, with_kwargs=True) for part in found])

    return fault


def _skipped(given: Any, outputs: Any) -> Any:
    return (given, *outputs[1:]) if isinstance(outputs, tuple) else given


def _other_activation(given: Any, outputs: Any) -> Any:
    rectified = functional.relu(given)
    return functional.gelu(given) if torch.equal(rectified, outputs) else rectified


def _swapped_samples(_: Any, outputs: Any) -> Any:
    for name, value in outputs.items():
        if isinstance(value, torch.Tensor) and value.ndim and value.is_floating_point():
            outputs[name] = value.roll(1, 0)
    return outputs


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


def _attended(change: Callable[[dict[str, Any]], bool]) -> Fault:
    """Change the arguments of all attention; the function says whether there was a change."""

    @contextmanager
    def fault(model: Model) -> Iterator[None]:
        del model
        original = functional.scaled_dot_product_attention

        def attention(query: Any, key: Any, value: Any, **options: Any) -> Any:
            arguments = {"query": query, "key": key, "value": value, **options}
            change(arguments)
            return original(**arguments)

        with patch.object(functional, "scaled_dot_product_attention", attention):
            yield

    return fault


def _later_tokens_seen(arguments: dict[str, Any]) -> bool:
    query, mask = arguments["query"], arguments.get("attn_mask")
    if query.shape[-2] < 2 or query.shape[-2] != arguments["key"].shape[-2]:
        return False
    if arguments.get("is_causal"):
        arguments["is_causal"] = False
        return True
    if mask is None:
        return False
    above = torch.ones(mask.shape[-2:], dtype=torch.bool).triu(1)
    hidden = ~mask if mask.dtype == torch.bool else mask < torch.finfo(mask.dtype).min / 2
    causal = hidden[..., above].all()
    if causal:
        seen = torch.tensor(True) if mask.dtype == torch.bool else torch.zeros((), dtype=mask.dtype)
        arguments["attn_mask"] = torch.where(above, seen, mask)
    return bool(causal)


def _padding_seen(arguments: dict[str, Any]) -> bool:
    mask = arguments.get("attn_mask")
    if mask is None or mask.dtype != torch.bool:
        return False
    length = mask.shape[-2]
    above = torch.ones(mask.shape[-2:], dtype=torch.bool).triu(1)
    causal = length > 1 and not mask[..., above].any()
    arguments["attn_mask"] = (~above).expand_as(mask) if causal else torch.ones_like(mask)
    return True


def _unscaled(arguments: dict[str, Any]) -> bool:
    arguments["scale"] = 1.0
    return True


def _swapped_heads(arguments: dict[str, Any]) -> bool:
    arguments["key"] = arguments["key"].roll(1, 1)
    arguments["value"] = arguments["value"].roll(1, 1)
    return True


@contextmanager
def _frozen_cache(model: Model) -> Iterator[None]:
    """Steps see what the prompt left and themselves, and store nothing."""
    del model
    original = DynamicLayer.update

    def update(self: Any, keys: Any, values: Any, *rest: Any, **more: Any) -> Any:
        kept = (self.keys, self.values) if self.is_initialized else None
        result = original(self, keys, values, *rest, **more)
        if kept is not None and keys.shape[-2] == 1 and kept[0].numel():
            self.keys, self.values = kept
        return result

    with patch.object(DynamicLayer, "update", update):
        yield


@contextmanager
def _swapped_cache(model: Model) -> Iterator[None]:
    """Steps read the cache of the other sample."""
    del model
    original = DynamicLayer.update

    def update(self: Any, keys: Any, values: Any, *rest: Any, **more: Any) -> Any:
        all_keys, all_values = original(self, keys, values, *rest, **more)
        if keys.shape[-2] > 1:
            return all_keys, all_values
        return all_keys.roll(1, 0), all_values.roll(1, 0)

    with patch.object(DynamicLayer, "update", update):
        yield


def _bias_of(index: int | str) -> Callable[[Model], list[Any]]:
    def find(model: Model) -> list[Any]:
        biased = [norm.bias for norm in norms(model) if getattr(norm, "bias", None) is not None]
        place = len(biased) // 2 if isinstance(index, str) else index
        return [biased[place]] if biased else []

    return find


def _matrices(part: Any) -> list[Any]:
    return [value for value in part.parameters() if value.ndim > 1]


def sabotages(precision: Precision) -> Iterator[Sabotage]:
    """All of them; "half the bits" depends on the precision."""
    fewer = half_bits(precision)
    last, first = slice(-1, None), slice(1)
    yield Sabotage("attention zero in all layers", _heads(_no_heads))
    yield Sabotage("attention zero in the first layer", _heads(_no_heads, first))
    yield Sabotage("attention zero in the last layer", _heads(_no_heads, last))
    yield Sabotage("cross-attention zero", _heads(_no_heads, kind="cross"))
    yield Sabotage("half of the heads zero", _heads(_half_of_heads))
    yield Sabotage("one head zero", _heads(_one_head_less, first))
    yield Sabotage("key and value heads swapped", _attended(_swapped_heads))
    yield Sabotage("scores not scaled", _attended(_unscaled))
    yield Sabotage("causal mask dropped", _attended(_later_tokens_seen))
    yield Sabotage("padding mask dropped", _attended(_padding_seen))
    yield Sabotage("last layer skipped", _outputs(lambda model: layers(model)[-1:], _skipped))
    yield Sabotage("activation swapped", _outputs(activations, _other_activation))
    yield Sabotage("samples swapped", _outputs(lambda model: [model], _swapped_samples))
    yield Sabotage("patches moved by one", _outputs(patch_embeddings, _moved_patches))
    yield Sabotage("rotary positions lost", _outputs(rotary_embeddings, _without_rotation))
    yield Sabotage(
        "positions shifted by one", _edited(position_tables, lambda table: table.roll(1, -2))
    )
    yield Sabotage("weights at half the bits", _edited(_matrices, fewer), in_weights=True)
    yield Sabotage(
        "one layer's weights at half the bits",
        _edited(lambda model: _matrices(layers(model)[-1]), fewer),
        in_weights=True,
    )
    for name, index in (("first", 0), ("middle", "middle"), ("last", -1)):
        lost = _edited(_bias_of(index), torch.zeros_like)
        yield Sabotage(f"bias of the {name} norm lost", lost)
    yield Sabotage(
        "weight of the first norm lost",
        _edited(lambda model: [norms(model)[0].weight], torch.ones_like),
    )
    yield Sabotage("cache not updated", _frozen_cache, in_steps=True)
    yield Sabotage("cache of the other sample", _swapped_cache, in_steps=True)
