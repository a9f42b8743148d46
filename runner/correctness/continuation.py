"""Tokens that generation is made to continue with, and the inputs behind which they stand.

Teacher forcing: every step of a decode loop is fed the same tokens, whatever it would have chosen,
so that each step's logits can be compared and no near tie makes all that follow differ. The tokens
are drawn, since greedy ones of random weights soon repeat, and a cache of equal entries would hide
that it is not read.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from runner.backends.graphs.feeds import MODALITIES, Tokens, start_tokens, token_input
from runner.contract.cell import Cell
from runner.contract.models import ModelSpec
from runner.inputs import MASK, Inputs

_FILLED: Mapping[str, int] = {MASK: 1, MODALITIES: 0}
"""The value for each further token in arguments beside the prompt."""
_STREAM = 2
"""The stream of random numbers, beside those of inputs and labels."""


def forced_tokens(model: ModelSpec, cell: Cell, seed: int) -> Tokens | None:
    """Drawn tokens, int64 [batch, `cell.new_tokens`]; None if the model takes no tokens."""
    specs = [spec for spec in model.inputs if spec.name == token_input(model)]
    if not specs or specs[0].high is None or cell.new_tokens is None:
        return None
    size = (cell.batch_size, min(cell.new_tokens, model.max_new_tokens or cell.new_tokens))
    generator = np.random.default_rng((seed, _STREAM))
    return generator.integers(specs[0].low, specs[0].high, size=size, dtype=np.int64)


def continued(model: ModelSpec, inputs: Inputs, tokens: Tokens) -> Inputs:
    """The inputs with these tokens behind the prompt, or behind a decoder's start token."""
    if model.encoder_decoder:
        return {**inputs, token_input(model): _behind(start_tokens(model, inputs), tokens)}
    further = {name: np.full_like(tokens, value) for name, value in _FILLED.items()}
    further[token_input(model)] = tokens
    return {
        name: _behind(array, further[name]) if name in further else array
        for name, array in inputs.items()
    }


def _behind(array: npt.NDArray[np.generic], more: Tokens) -> npt.NDArray[np.generic]:
    return np.concatenate([array, more.astype(array.dtype)], axis=1)
