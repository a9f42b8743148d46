"""Faults that a training step could have: each must turn `correct` false."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import torch

from performance.attention_faults import Model, hooked
from performance.broken_parts import Inapplicable, layers
from runner.backends.torch import training

Fault = Callable[[Model], AbstractContextManager[None]]


def lost_gradient(model: Model) -> AbstractContextManager[None]:
    """The last layer's gradients are 0."""
    parameters = list(layers(model)[-1].parameters())
    return hooked([one.register_hook(torch.zeros_like) for one in parameters])


@contextmanager
def frozen_parameter(model: Model) -> Iterator[None]:
    """The last weight of the last layer is not trained."""
    frozen = [one for one in layers(model)[-1].parameters() if one.ndim > 1][-1]
    frozen.requires_grad_(False)
    try:
        yield
    finally:
        frozen.requires_grad_(True)


@contextmanager
def no_update(model: Model) -> Iterator[None]:
    """The optimizer's step is not taken."""
    del model
    with patch.object(torch.optim.AdamW, "step", lambda *_, **__: None):
        yield


@contextmanager
def lost_update(model: Model) -> Iterator[None]:
    """The optimizer's step is taken and undone."""
    original = torch.optim.AdamW.step

    def step(optimizer: Any, *arguments: Any, **named: Any) -> None:
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        before = [one.detach().clone() for one in parameters]
        original(optimizer, *arguments, **named)
        with torch.no_grad():
            for one, value in zip(parameters, before, strict=True):
                one.copy_(value)

    del model
    with patch.object(torch.optim.AdamW, "step", step):
        yield


def _other_loss(change: Callable[[Any, Any, Any], Any]) -> Fault:
    """Another criterion in the place of the model's own; it takes that one, logits and labels."""

    @contextmanager
    def fault(model: Model) -> Iterator[None]:
        del model
        original, changed = training.find_criterion, []

        def find(*arguments: Any) -> Any:
            criterion = original(*arguments)
            changed.append(criterion)
            return criterion and partial(change, criterion)

        with patch.object(training, "find_criterion", find):
            yield
        if not any(changed):
            raise Inapplicable

    return fault


undivided_loss = _other_loss(lambda loss, logits, labels: loss(logits, labels) * len(labels))
"""The loss is not divided by the batch."""
half_of_batch = _other_loss(
    lambda loss, logits, labels: loss(logits[: len(logits) // 2], labels[: len(labels) // 2])
)
"""The second half of the batch is ignored."""

FAULTS: dict[str, Fault] = {
    "last layer's gradients are 0": lost_gradient,
    "one parameter is frozen": frozen_parameter,
    "optimizer's step not taken": no_update,
    "optimizer's step undone": lost_update,
    "loss not divided by the batch": undivided_loss,
    "half of the batch ignored": half_of_batch,
}
