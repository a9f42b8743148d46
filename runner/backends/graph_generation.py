"""Greedy generation over a prepared graph, each token timed as it reaches the host."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.backends.base import Generated
from runner.backends.graph_generation_loop import DecodeLoop, Executor
from runner.graph import Graph, Part
from runner.inputs import Inputs
from runner.measure.clock import Clock
from runner.models import ModelSpec


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


def _most_likely(logits: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The token of each sample, shape [batch]."""
    tokens: npt.NDArray[np.int64] = logits.argmax(axis=-1)
    return tokens
