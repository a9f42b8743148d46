"""PassCounts of a model's passes at one shape: a forward pass, and the parts of a generation."""

import inspect
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.flop_counter import flop_registry
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
from runner.inputs import Inputs, synthesise

META = torch.device("meta")
_CPU = torch.device("cpu")
_INDEXED = (torch.ops.aten.index, torch.ops.aten.index_put, torch.ops.aten.index_put_)


class WorkCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counter of matrix products and convolutions over floating-point tensors without data.

    Integer tensors have data, since shapes may follow from them. An operation that mixes both gets
    all tensors without data.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.macs = 0
        self.activations = 0
        self._parameters = {_storage(weight): weight.numel() for weight in model.parameters()}
        self._read: set[int] = set()

    @property
    def weights(self) -> int:
        """Parameters that were read as a whole: of a table of embeddings only rows are."""
        return sum(self._parameters[storage] for storage in self._read)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Execute one operation, and count it."""
        packet = func._overloadpacket
        if packet not in flop_registry and func is not torch.ops.prim.device.default:
            with self:
                parts = func.decompose(*args, **(kwargs or {}))
                if parts is not NotImplemented:
                    return parts
        if packet in _INDEXED:
            args = (args[0], list(chain.from_iterable(map(_indices, args[1]))), *args[2:])
        args, kwargs = _on_one_device(args, kwargs or {})
        if packet is not torch.ops.aten.embedding and not func.is_view:
            storages = {_storage(tensor) for tensor in tensors_in((args, kwargs))}
            self._read |= storages & self._parameters.keys()
        out = func(*args, **kwargs)
        if packet in flop_registry:
            self.macs += flop_registry[packet](*args, **kwargs, out_val=out) // 2
            self.activations += sum(leaf.numel() for leaf in tensors_in(out)[:1])
        return out


def tensors_in(values: object) -> list[torch.Tensor]:
    """The tensors among nested values."""
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _storage(tensor: torch.Tensor) -> int:
    """The memory that a tensor shares with its views, and a weight with those tied to it."""
    return int(tensor.untyped_storage()._cdata)


def _on_one_device(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
    """The arguments, all without data if any of them is; new integer tensors get data."""
    if any(tensor.device == META for tensor in tensors_in((args, kwargs))):
        args, kwargs = tree_map_only(torch.Tensor, lambda t: t.to(META), (args, kwargs))
        return args, {**kwargs, "device": META} if "device" in kwargs else kwargs
    dtype = kwargs.get("dtype")
    if kwargs.get("device") == META and not (dtype and dtype.is_floating_point):
        return args, {**kwargs, "device": _CPU}
    return args, kwargs


def _indices(index: torch.Tensor | None) -> Sequence[torch.Tensor | None]:
    """The indices that a mask marks, if its values are known."""
    if index is not None and index.dtype == torch.bool and index.device == _CPU:
        return index.nonzero(as_tuple=True)
    return (index,)


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
