"""Takes the loss out of a model's forward pass, so that it can be timed apart."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.functional import cross_entropy

Criterion = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""The loss of logits against labels."""


@torch.no_grad()
def find_criterion(model: Any, outputs: Any, labels: torch.Tensor) -> Criterion | None:
    """The criterion that gives, bit by bit, the loss of this forward pass; None if none does."""
    logits = outputs.get("logits")
    if not isinstance(logits, torch.Tensor) or labels.numel() * logits.shape[-1] != logits.numel():
        return None
    for criterion in _candidates(model):
        loss = criterion(logits, labels)
        if loss.dtype == outputs.loss.dtype and torch.equal(loss, outputs.loss):
            return criterion
    return None


def _candidates(model: Any) -> Iterator[Criterion]:
    """The model's own loss function as its forward pass may call it; then plain cross entropy.

    Own functions take (logits, labels, vocab_size) or (labels, pooled_logits, config), see
    `transformers.loss.loss_utils`. T5 has one but does not use it: it would shift the labels.
    """
    own = model.loss_function
    parameters = inspect.signature(own).parameters
    if "vocab_size" in parameters:
        yield lambda logits, labels: own(logits, labels, vocab_size=logits.shape[-1])
    elif "pooled_logits" in parameters:
        yield lambda logits, labels: own(labels, logits, model.config)
    yield lambda logits, labels: cross_entropy(logits.view(-1, logits.shape[-1]), labels.view(-1))
