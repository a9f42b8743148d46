"""What executes the parts of a graph: all of them over fixed inputs, or one over any inputs."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import openvino as ov

from runner.backends.graph_outputs import Outputs
from runner.backends.openvino_step import Place, Step, placed


class GraphQuery:
    """Parts that execute one behind the other over inputs that stay where they are."""

    def __init__(
        self,
        steps: Iterable[Step],
        outputs: Mapping[str, Place],
        idle: Iterable[ov.CompiledModel] = (),
    ) -> None:
        self.steps = tuple(steps)
        """The parts, in the order of execution."""
        self._outputs = outputs
        self._idle = tuple(idle)

    @property
    def compiled(self) -> tuple[ov.CompiledModel, ...]:
        """Every compiled part of the graph, those too that the query does not execute."""
        return (*(step.compiled for step in self.steps), *self._idle)

    def __call__(self) -> Mapping[str, Place]:
        """Execute; the outputs stay in the requests' memory until the next call."""
        for step in self.steps:
            step()
        return self._outputs


class PartExecutor:
    """One part, called with other inputs each time.

    Where there are two steps they take turns, so that a call may read what the one before it gave.
    """

    def __init__(self, steps: Iterable[Step], outputs: tuple[str, ...]) -> None:
        self.steps = tuple(steps)
        """One or two, which execute the same compiled part."""
        self._turns = [(step, step.outputs(outputs)) for step in self.steps]

    def place(self, name: str, array: npt.NDArray[np.generic]) -> Place:
        """The array where it lies on the host."""
        del name
        return placed(array)

    def __call__(self, feeds: Mapping[str, Any]) -> Mapping[str, Place]:
        """Execute over these places; the outputs last until the step has its next turn."""
        self._turns.reverse()
        step, outputs = self._turns[0]
        step.read(feeds)
        step()
        return outputs

    def read(self, value: Any) -> npt.NDArray[Any]:
        """An output; the device has finished when a call returns."""
        return np.asarray(value.tensor().data)


def over_nothing(model: ov.Model, compiled: ov.CompiledModel) -> GraphQuery:
    """A query like any other, over a model of one input and one output."""
    step = Step(model, compiled)
    (name,) = compiled.input(0).get_names()
    step.read({name: placed(np.zeros(1, dtype=np.float32))})
    return GraphQuery([step], step.outputs([name]))


def on_host(outputs: Any) -> Outputs:
    """What a query gave, as arrays over the requests' memory."""
    return {name: place.tensor().data for name, place in outputs.items()}
