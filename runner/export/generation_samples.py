"""What torch generates, as the answer that an exported decode loop must give."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from runner.backends.base import Array, Session
from runner.backends.graph_generation_feeds import (
    KINDS,
    LOGITS,
    MASK,
    Tokens,
    start_tokens,
    token_input,
)
from runner.cell import Cell
from runner.inputs import Inputs
from runner.measure.clock import monotonic
from runner.models import ModelSpec

STEPS = 5
"""Tokens to generate: one fills the cache, the others show whether it grows as it must."""
FILLED: Mapping[str, int] = {MASK: 1, KINDS: 0}
"""What stands for each further token in arguments that go along with the prompt."""


@dataclass(frozen=True)
class Continuation:
    """What follows a prompt."""

    tokens: Tokens
    """What transformers' own `generate` takes greedily, int64 [batch, steps]."""
    logits: Array
    """What led to each of them, from one pass without a cache, [batch, steps, vocabulary]."""


def continuation(session: Session, model: ModelSpec, cell: Cell, inputs: Inputs) -> Continuation:
    """What a session of torch generates after the inputs."""
    steps = min(STEPS, _room(model, inputs))
    asked = cell.model_copy(update={"new_tokens": steps})
    tokens = session.bind_generation(asked, inputs, monotonic)().tokens
    known = _continued(model, inputs, tokens[:, :-1])
    logits = session.arrays(session.bind(asked, known)())[LOGITS]
    return Continuation(tokens, logits[:, -steps:])


def _room(model: ModelSpec, inputs: Inputs) -> int:
    """Tokens that can follow the inputs; the last one is no input any more."""
    if model.encoder_decoder:
        return model.max_new_tokens or STEPS
    if model.max_sequence_length is None:
        return STEPS
    length: int = inputs[token_input(model)].shape[1]
    return model.max_sequence_length - length + 1


def _continued(model: ModelSpec, inputs: Inputs, tokens: Tokens) -> Inputs:
    """The inputs with these tokens behind the prompt, or behind a decoder's start token."""
    if model.encoder_decoder:
        return {**inputs, token_input(model): _behind(start_tokens(model, inputs), tokens)}
    further = {name: np.full_like(tokens, value) for name, value in FILLED.items()}
    further[token_input(model)] = tokens
    return {
        name: _behind(array, further[name]) if name in further else array
        for name, array in inputs.items()
    }


def _behind(array: npt.NDArray[np.generic], more: Tokens) -> npt.NDArray[np.generic]:
    return np.concatenate([array, more.astype(array.dtype)], axis=1)
