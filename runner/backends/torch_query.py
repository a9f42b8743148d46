"""Forward passes over inputs that lie on the device."""

from collections.abc import Mapping

import torch

from runner.backends.torch_device import Wait


class TorchQuery:
    """A model's forward pass over fixed inputs."""

    def __init__(
        self,
        model: torch.nn.Module,
        inputs: Mapping[str, torch.Tensor],
        constants: Mapping[str, bool],
        wait: Wait,
    ) -> None:
        self._model = model
        self._wait = wait
        self.arguments: dict[str, torch.Tensor | bool] = {**inputs, **constants}
        """What the forward pass takes, by name."""

    def __call__(self) -> object:
        """Execute the forward pass and wait for the device."""
        with torch.inference_mode():
            outputs = self._model(**self.arguments)
        self._wait()
        return outputs


class Nothing(torch.nn.Module):
    """A model that computes nothing."""

    def forward(self) -> None:
        """Return at once."""
