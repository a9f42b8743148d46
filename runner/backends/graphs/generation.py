"""Greedy generation over a prepared graph, each token timed as it reaches the host."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from runner.backends.base import FloatArray, Generated
from runner.backends.graphs.feeds import (
    LOGITS,
    POSITIONS,
    Tokens,
    next_position,
    position_ids,
    prompt_inputs,
    select_inputs,
    token_input,
)
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, Part
from runner.contract.models import ModelSpec
from runner.inputs import Inputs
from runner.measure.clock import Clock

PAST, PRESENT = "input.", "output."
"""Prefixes of a cache's names: as the decoding part takes it, and as it gives it."""


class Executor(Protocol):
    """One part of a prepared graph, loaded.

    Its values belong to the runtime: they may lie on the device, and only `read` looks inside.
    The parts of one graph take each other's values.
    """

    def place(self, name: str, array: npt.NDArray[np.generic]) -> object:
        """The array as the input of that name takes it, on the device."""
        ...

    def __call__(self, feeds: Mapping[str, object]) -> Mapping[str, object]:
        """Execute, and return the outputs by name.

        Outputs of a part that takes its own outputs stay valid until it has been called twice
        more, so that the next call may take them; those of other parts until the next call.
        """
        ...

    def read(self, value: object) -> npt.NDArray[Any]:
        """An output on the host; waits for the device."""
        ...


class DecodeLoop:
    """One prompt and the tokens generated after it; caches are handed on, never copied."""

    def __init__(
        self,
        model: ModelSpec,
        takes: Mapping[Part, Sequence[str]],
        executors: Mapping[Part, Executor],
        inputs: Inputs,
    ) -> None:
        """Place the prompt on the device.

        Args:
            model: the generating model.
            takes: the names of each part's inputs.
            executors: the parts.
            inputs: the prompt, as the model's forward pass takes it.

        Raises:
            Unsupported: there is no part that extends a cache, or one takes what is not there.
        """
        if not {"prefill", "decode"} <= takes.keys():
            raise Unsupported(f"the graph of {model.name} has no part that extends a cache")
        self._prefill, self._decode = executors["prefill"], executors["decode"]
        prompt = select_inputs(takes["prefill"], prompt_inputs(model, inputs))
        self._prompt = _placed(self._prefill, prompt)
        steps = takes["decode"]
        self._caches: dict[str, object] = {name: None for name in steps if name.startswith(PAST)}
        self._token_input = token_input(model)
        self._prompt_positions = position_ids(model, inputs) if POSITIONS in steps else None
        self._positions = self._prompt_positions
        changing = {self._token_input, POSITIONS, *self._caches}
        constants = select_inputs([name for name in steps if name not in changing], inputs)
        self._constants = _placed(self._decode, constants)
        """Inputs of every step that are as in the prompt: the mask over an encoder's text."""

    def start(self) -> npt.NDArray[Any]:
        """Fill the cache with the prompt; the logits after it, shape [batch, vocabulary]."""
        outputs = self._prefill(self._prompt)
        self._caches = {name: outputs[name.removeprefix(PAST)] for name in self._caches}
        self._positions = self._prompt_positions
        return self._last_logits(self._prefill, outputs)

    def advance(self, tokens: Tokens) -> npt.NDArray[Any]:
        """Add one token to each sample, shape [batch]; the logits after it."""
        outputs = self._decode({**self._constants, **self._caches, **self._step(tokens)})
        # A cache that the part does not give, such as that of an encoder, stays as it was.
        self._caches = {
            name: outputs.get(PRESENT + name.removeprefix(PAST), value)
            for name, value in self._caches.items()
        }
        return self._last_logits(self._decode, outputs)

    def _step(self, tokens: Tokens) -> dict[str, object]:
        arrays = {self._token_input: tokens[:, np.newaxis]}
        if self._positions is not None:
            self._positions = arrays[POSITIONS] = next_position(self._positions)
        return _placed(self._decode, arrays)

    def _last_logits(self, part: Executor, outputs: Mapping[str, object]) -> npt.NDArray[Any]:
        """Both parts give the logits of one position alone, so all of them are read."""
        logits: npt.NDArray[Any] = part.read(outputs[LOGITS])[:, -1]
        return logits


def _placed(part: Executor, arrays: Inputs) -> dict[str, object]:
    return {name: part.place(name, array) for name, array in arrays.items()}


class GraphGenerator:
    """Takes the most likely token again and again; none ends a text early."""

    def __init__(
        self,
        model: ModelSpec,
        graph: Graph,
        executors: Mapping[Part, Executor],
        inputs: Inputs,
        new_tokens: int,
        clock: Clock,
    ) -> None:
        """Place the prompt on the device.

        Raises:
            Unsupported: the graph is not one of this model's generation.
        """
        self._loop = DecodeLoop(model, graph.takes, executors, inputs)
        self._new_tokens = new_tokens
        self._clock = clock

    def __call__(self) -> Generated:
        """Generate once; the first token comes with the filling of the cache."""
        started = self._clock()
        tokens = [_most_likely(self._loop.start())]
        times = [self._clock()]
        while len(tokens) < self._new_tokens:
            tokens.append(_most_likely(self._loop.advance(tokens[-1])))
            times.append(self._clock())
        return Generated(started, times, np.stack(tokens, axis=1))

    def forced(self, tokens: Tokens) -> FloatArray:
        """The logits before each of these tokens, through the same cache."""
        logits = [np.array(self._loop.start(), np.float32)]
        logits += [np.array(self._loop.advance(fed), np.float32) for fed in tokens[:, :-1].T]
        return np.stack(logits, axis=1)


def _most_likely(logits: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The token of each sample, shape [batch]."""
    tokens: npt.NDArray[np.int64] = logits.argmax(axis=-1)
    return tokens
