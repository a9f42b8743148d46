"""A training step that is observed: its loss, its gradients, and what it does to the parameters."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch.nn.modules.batchnorm import _BatchNorm

from runner.backends.base import MOST_SKIPPED, FloatArray, Rehearsal
from runner.backends.torch.sketch import SIZE, sketch, spread_elements


class GradientWatch:
    """Sketches of gradients and updates, taken around the optimizer's own step."""

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self._parameters = dict(model.named_parameters())
        self._before = self._samples()
        self.gradients: Mapping[str, FloatArray] | None = None
        """By parameter, without the loss' scale; None before a step was taken."""
        self._hook = optimizer.register_step_pre_hook(lambda *_: self._take())

    def updates(self) -> dict[str, FloatArray]:
        """By parameter, the change of evenly spaced elements since this watch began."""
        after = self._samples()
        return {name: after[name] - before for name, before in self._before.items()}

    def close(self) -> None:
        """Take nothing more."""
        self._hook.remove()

    def _take(self) -> None:
        self.gradients = {
            name: sketch(torch.zeros_like(one) if one.grad is None else one.grad)
            for name, one in self._parameters.items()
        }

    def _samples(self) -> dict[str, FloatArray]:
        return {
            name: spread_elements(one, SIZE).to("cpu", torch.float64).numpy()
            for name, one in self._parameters.items()
        }


def rehearse(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, step: Callable[[], float]
) -> Rehearsal:
    """Take steps until the optimizer has taken one, and tell of it.

    Args:
        model: the model.
        optimizer: its optimizer.
        step: takes one step, as it is timed, and returns its loss.
    """
    watch = GradientWatch(model, optimizer)
    try:
        with without_chance(model):
            loss = np.nan
            for _ in range(MOST_SKIPPED):
                loss = step()
                if watch.gradients is not None:
                    break
        return Rehearsal(loss, watch.gradients or {}, watch.updates())
    finally:
        watch.close()


@contextmanager
def without_chance(model: torch.nn.Module) -> Iterator[None]:
    """The model as it trains, but with nothing left to chance: dropout differs by device.

    Batch norms alone compute otherwise in training than in evaluation.
    """
    training = [module for module in model.modules() if module.training]
    model.eval()
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.train()
    try:
        yield
    finally:
        for module in training:
            module.training = True
