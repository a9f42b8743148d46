"""Looks into what a model returns, however it is nested."""

from collections.abc import Iterable, Iterator, Mapping

import torch

from runner.backends.base import Array
from runner.backends.graph_outputs import CACHES


def named_tensors(outputs: object, name: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor with its dotted path, e.g. `hidden_states.0`."""
    if isinstance(outputs, torch.Tensor):
        yield name, outputs
    elif isinstance(outputs, Mapping | list | tuple):
        items = outputs.items() if isinstance(outputs, Mapping) else enumerate(outputs)
        for key, value in items:
            yield from named_tensors(value, f"{name}.{key}" if name else str(key))


def all_tensors(outputs: object) -> list[torch.Tensor]:
    """Every tensor."""
    return [tensor for _, tensor in named_tensors(outputs)]


def float_arrays(outputs: object) -> dict[str, Array]:
    """The floating-point tensors on the host, by dotted path, without caches."""
    return {
        name: tensor.detach().to("cpu", torch.float32).numpy()
        for name, tensor in named_tensors(outputs)
        if tensor.is_floating_point() and name.split(".")[0] not in CACHES
    }


def device_names(tensors: Iterable[torch.Tensor]) -> set[str]:
    """The devices that hold these tensors, as torch writes them: `cpu`, `cuda:1`."""
    return {str(tensor.device) for tensor in tensors}
