"""Faults of attention: its heads, scores, masks and cache."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partialmethod
from typing import Any
from unittest.mock import patch

import torch
from torch.nn import functional
from transformers.cache_utils import DynamicLayer

from performance.sabotage.parts import Inapplicable, inner_layers, projections

Model = Any
Fault = Callable[[Model], AbstractContextManager[None]]
"""The context in which a model is broken; it raises `Inapplicable` where that changes nothing."""

_QUERIES, _KEYS_AND_VALUES = (
    ("q_proj", "query", "q"),
    ("k_proj", "v_proj", "key", "value", "k", "v"),
)
_NORMS_OF_QUERIES = ("q_norm",)
_UNSCALED = "T5Attention"
"""Attention that divides no scores."""


@contextmanager
def hooked(handles: Sequence[Any]) -> Iterator[None]:
    """The context in which these hooks stand."""
    if not handles:
        raise Inapplicable
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def changed_heads(
    change: Callable[[torch.Tensor, int], torch.Tensor], which: slice = slice(None), kind: str = ""
) -> Fault:
    """Change the concatenated heads that go into the output projections."""

    def fault(model: Model) -> AbstractContextManager[None]:
        def hook(count: int) -> Any:
            return lambda _, arguments: (change(arguments[0], count), *arguments[1:])

        chosen = list(projections(model, kind))[which]
        handles = [layer.register_forward_pre_hook(hook(count)) for layer, count in chosen]
        return hooked(handles)

    return fault


def no_heads(heads: torch.Tensor, count: int) -> torch.Tensor:
    """All of them zero."""
    del count
    return torch.zeros_like(heads)


def half_of_heads(heads: torch.Tensor, count: int) -> torch.Tensor:
    """The later half zero."""
    size = heads.shape[-1] // count
    kept = heads.clone()
    kept[..., -max(1, count // 2) * size :] = 0
    return kept


def one_head_less(heads: torch.Tensor, count: int) -> torch.Tensor:
    """The first one zero."""
    kept = heads.clone()
    kept[..., : heads.shape[-1] // count] = 0
    return kept


def swapped_heads(model: Model) -> AbstractContextManager[None]:
    """Queries meet the keys and values of another head."""
    layers = [
        (layer, size)
        for layer, size in inner_layers(model, _KEYS_AND_VALUES)
        if layer.out_features > size
    ]
    if not layers:
        return attended(_rolled_heads)(model)
    return hooked([layer.register_forward_hook(_rolling(size)) for layer, size in layers])


def scaled_scores(factor: Callable[[int], float]) -> Fault:
    """Scores are too large by a factor of a head's size."""

    def fault(model: Model) -> AbstractContextManager[None]:
        if any(type(module).__name__ == _UNSCALED for module in model.modules()):
            raise Inapplicable
        # A norm of queries would undo what comes before it.
        found = list(inner_layers(model, _NORMS_OF_QUERIES)) or list(inner_layers(model, _QUERIES))
        if not found:
            return attended(_scaling(factor))(model)
        return hooked(
            [layer.register_forward_hook(_multiplying(factor(size))) for layer, size in found]
        )

    return fault


def _rolling(size: int) -> Any:
    return lambda *given: given[-1].roll(size, -1)


def _multiplying(factor: float) -> Any:
    return lambda *given: given[-1] * factor


def attended(change: Callable[[dict[str, Any]], bool]) -> Fault:
    """Change the arguments of all attention; the function says whether there was a change."""

    @contextmanager
    def fault(model: Model) -> Iterator[None]:
        del model
        original = functional.scaled_dot_product_attention
        changes: list[bool] = []

        def attention(query: Any, key: Any, value: Any, **options: Any) -> Any:
            arguments = {"query": query, "key": key, "value": value, **options}
            changes.append(change(arguments))
            return original(**arguments)

        with patch.object(functional, "scaled_dot_product_attention", attention):
            yield
        if not any(changes):
            raise Inapplicable

    return fault


def _scaling(factor: Callable[[int], float]) -> Callable[[dict[str, Any]], bool]:
    def change(arguments: dict[str, Any]) -> bool:
        size = arguments["query"].shape[-1]
        arguments["scale"] = (arguments.get("scale") or size**-0.5) * factor(size)
        return True

    return change


def _rolled_heads(arguments: dict[str, Any]) -> bool:
    arguments["key"] = arguments["key"].roll(1, 1)
    arguments["value"] = arguments["value"].roll(1, 1)
    return bool(arguments["key"].shape[1] > 1)


def later_tokens_seen(arguments: dict[str, Any]) -> bool:
    """Drop the causal mask."""
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


def padding_seen(names: Sequence[str]) -> Fault:
    """The model is told that none of its positions are padding."""

    @contextmanager
    def fault(model: Model) -> Iterator[None]:
        padded: list[str] = []

        def hook(_: Any, arguments: Any, named: dict[str, Any]) -> Any:
            masks = {name: named[name] for name in names if named.get(name) is not None}
            padded.extend(name for name, mask in masks.items() if not mask.all())
            return arguments, named | {n: torch.ones_like(mask) for n, mask in masks.items()}

        with hooked([model.register_forward_pre_hook(hook, with_kwargs=True)]):
            yield
        if not padded:
            raise Inapplicable

    return fault


def changed_cache(change: Callable[..., Any]) -> Fault:
    """Change what is cached; the function gets the layer, its own update, keys, values."""

    @contextmanager
    def fault(model: Model) -> Iterator[None]:
        del model
        changed = partialmethod(change, DynamicLayer.update)
        with patch.object(DynamicLayer, "update", changed):
            yield

    return fault


def frozen_cache(layer: Any, update: Any, *states: Any, **more: Any) -> Any:
    """Steps see what the prompt left and themselves, and store nothing."""
    kept = (layer.keys, layer.values) if layer.is_initialized else None
    result = update(layer, *states, **more)
    if kept is not None and states[0].shape[-2] == 1 and kept[0].numel():
        layer.keys, layer.values = kept
    return result


def swapped_cache(layer: Any, update: Any, *states: Any, **more: Any) -> Any:
    """Steps read the cache of the other sample."""
    all_keys, all_values = update(layer, *states, **more)
    if states[0].shape[-2] > 1:
        return all_keys, all_values
    return all_keys.roll(1, 0), all_values.roll(1, 0)


def forgotten_token(layer: Any, update: Any, *states: Any, **more: Any) -> Any:
    """The cache lacks the prompt's last token."""
    result = update(layer, *states, **more)
    if states[0].shape[-2] > 1:
        layer.keys, layer.values = layer.keys.clone(), layer.values.clone()
        layer.keys[..., -1, :] = layer.values[..., -1, :] = 0
    return result
