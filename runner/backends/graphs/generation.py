"""Greedy generation over a prepared graph, each token timed as it reaches the host.

The graph chooses the token: the loop hands it on as it lies on the device, and reads a copy.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from runner.backends.base import FloatArray, Generated
from runner.backends.graphs.feeds import (
    LOGITS,
    NEXT_TOKENS,
    POSITIONS,
    Tokens,
    next_position,
    position_ids,
    prompt_inputs,
    select_inputs,
    token_input,
)
from runner.contract.errors import Unsupported
from runner.contract.graph import Part
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason
from runner.inputs import Inputs
from runner.measure.clock import Clock

PAST, PRESENT = "input.", "output."
"""Prefixes of a cache's names: as the decoding part takes it, and as it gives it."""


class Executor(Protocol):
    """One part of a prepared graph; only `read` looks into its values, which the others take."""

    def place(self, name: str, array: npt.NDArray[np.generic]) -> object:
        """The array as the input of that name takes it, on the device."""

    def __call__(self, feeds: Mapping[str, object]) -> Mapping[str, object]:
        """The outputs, valid until the next call, or the next but one if the part takes its own."""

    def read(self, value: object) -> npt.NDArray[Any]:
        """An output on the host; waits for the device."""


class DecodeLoop:
    """One prompt and the tokens generated after it; caches are handed on, never copied."""

    def __init__(
        self,
        model: ModelSpec,
        takes: Mapping[Part, Sequence[str]],
        executors: Mapping[Part, Executor],
        inputs: Inputs,
    ) -> None:
        """Place the prompt on the device; `takes` holds the names of each part's inputs."""
        if not {"prefill", "decode"} <= takes.keys():
            raise Unsupported(reason("graph_lacks_cache", model=model.name))
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
        self._latest: tuple[Executor, Mapping[str, object]] = (self._prefill, {})
        """The part that was executed last, and its outputs."""

    def start(self) -> None:
        outputs = self._prefill(self._prompt)
        self._caches = {name: outputs[name.removeprefix(PAST)] for name in self._caches}
        self._positions = self._prompt_positions
        self._latest = self._prefill, outputs

    def advance(self, tokens: Tokens | None = None) -> None:
        """Add one token to each sample: these, shape [batch], or else the most likely ones."""
        feeds = {**self._constants, **self._caches}
        arrays: dict[str, Tokens] = {}
        if tokens is None:
            feeds[self._token_input] = self._latest[1][NEXT_TOKENS]
        else:
            arrays[self._token_input] = tokens[:, np.newaxis]
        if self._positions is not None:
            self._positions = arrays[POSITIONS] = next_position(self._positions)
        outputs = self._decode(feeds | _placed(self._decode, arrays))
        # A cache that the part does not give, such as that of an encoder, stays as it was.
        self._caches = {
            name: outputs.get(PRESENT + name.removeprefix(PAST), value)
            for name, value in self._caches.items()
        }
        self._latest = self._decode, outputs

    def tokens(self) -> Tokens:
        """The most likely tokens now, shape [batch], on the host."""
        return self._read(NEXT_TOKENS).astype(np.int64)

    def logits(self) -> FloatArray:
        """The logits that chose them, shape [batch, vocabulary], on the host."""
        return self._read(LOGITS).astype(np.float32)

    def _read(self, name: str) -> npt.NDArray[Any]:
        """An output of the latest call; both parts give it for one position alone."""
        part, outputs = self._latest
        values: npt.NDArray[Any] = part.read(outputs[name])[:, -1]
        return values


def _placed(part: Executor, arrays: Inputs) -> dict[str, object]:
    return {name: part.place(name, array) for name, array in arrays.items()}


@dataclass(frozen=True)
class GraphGenerator:
    """Takes the most likely token again and again; none ends a text early."""

    loop: DecodeLoop
    new_tokens: int
    clock: Clock

    def __call__(self) -> Generated:
        loop, clock = self.loop, self.clock
        started = clock()
        loop.start()
        tokens, times = [loop.tokens()], [clock()]
        while len(tokens) < self.new_tokens:
            loop.advance()
            tokens.append(loop.tokens())
            times.append(clock())
        return Generated(started, times, np.stack(tokens, axis=1))

    def forced(self, tokens: Tokens) -> FloatArray:
        return np.stack([logits for logits, _ in forced_steps(self.loop, tokens)], axis=1)


def forced_steps(loop: DecodeLoop, tokens: Tokens) -> Iterator[tuple[FloatArray, Tokens]]:
    """Logits before each of these tokens and the token that the graph takes for the likeliest."""
    loop.start()
    yield loop.logits(), loop.tokens()
    for fed in tokens[:, :-1].T:
        loop.advance(fed)
        yield loop.logits(), loop.tokens()
