"""Forward passes over inputs that lie on the device."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext

import torch

from runner.backends.base import FloatArray
from runner.backends.graphs.outputs import CACHES
from runner.backends.torch.device import Wait


class TorchQuery:
    """A model's forward pass over fixed inputs."""

    def __init__(
        self,
        model: torch.nn.Module,
        inputs: Mapping[str, torch.Tensor],
        constants: Mapping[str, bool],
        wait: Wait,
        cast: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._model = model
        self._wait = wait
        self._cast = cast
        self.arguments: dict[str, torch.Tensor | bool] = {**inputs, **constants}
        """The arguments of the forward pass, by name."""

    def __call__(self) -> object:
        """Execute the forward pass and wait for the device."""
        with torch.inference_mode(), self._cast():
            outputs = self._model(**self.arguments)
        self._wait()
        return outputs


class EmptyModel(torch.nn.Module):
    """A model that computes nothing."""

    def forward(self) -> None:
        """Return at once."""


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


def float_arrays(outputs: object) -> dict[str, FloatArray]:
    """The floating-point tensors on the host, by dotted path, without caches."""
    return {
        name: tensor.detach().to("cpu", torch.float32).numpy()
        for name, tensor in named_tensors(outputs)
        if tensor.is_floating_point() and name.split(".")[0] not in CACHES
    }


def device_names(tensors: Iterable[torch.Tensor]) -> set[str]:
    """The devices that hold these tensors, as torch writes them: `cpu`, `cuda:1`."""
    return {str(tensor.device) for tensor in tensors}
