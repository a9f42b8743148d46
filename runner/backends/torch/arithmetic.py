"""Number formats of a training step: autocast beside parameters in fp32, and the loss' scale."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from runner.backends.torch.device import wait_for
from runner.contract.cell import Cell, Precision

DTYPES: Mapping[Precision, torch.dtype] = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "int8": torch.float32,  # of everything that is not quantised
}


def parameter_type(cell: Cell) -> torch.dtype:
    """The type in which the cell's parameters are kept."""
    return torch.float32 if autocast_type(cell) else DTYPES[cell.precision]


def autocast_type(cell: Cell) -> torch.dtype | None:
    """The type to which autocast turns a cell's products; None where all have one type."""
    below = cell.mode == "training" and cell.precision in {"bf16", "fp16"}
    return DTYPES[cell.precision] if below and cell.training_precision != "pure" else None


class Arithmetic:
    """Autocast around forward pass and loss, and a scale of the loss for fp16.

    Gradients of fp16 activations vanish below 6e-8, so the loss is multiplied by a scale, which
    falls by half when a gradient overflows; that step is skipped (Micikevicius and others 2018).
    """

    def __init__(self, device: torch.device, autocast: torch.dtype | None = None) -> None:
        self._device = device
        self.wait = wait_for(device)
        """Returns when the device has finished all its work."""
        self._autocast = autocast
        scaled = autocast == torch.float16
        self._scaler: Any = torch.amp.GradScaler(device.type) if scaled else None

    @property
    def scale(self) -> float | None:
        """The loss' scale now; None if it has none."""
        return None if self._scaler is None else float(self._scaler.get_scale())

    def cast(self) -> AbstractContextManager[Any]:
        """The context of a forward pass."""
        if self._autocast is None:
            return nullcontext()
        return torch.autocast(self._device.type, dtype=self._autocast)

    def backward(self, loss: torch.Tensor) -> None:
        """Compute gradients, scaled with the loss."""
        (loss if self._scaler is None else self._scaler.scale(loss)).backward()

    def update(self, optimizer: torch.optim.Optimizer) -> None:
        """Take the optimizer's step, unless a scaled gradient is not finite; adapt the scale."""
        if self._scaler is None:
            optimizer.step()
            return
        self._scaler.step(optimizer)
        self._scaler.update()
