"""What executes the parts of a graph: all of them over fixed inputs, or one over any inputs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import openvino as ov

from runner.backends.graphs.outputs import Outputs


@dataclass(frozen=True)
class Place:
    """Where a value lies: an input of a query, or an output of a step."""

    shape: ov.PartialShape
    """Its sizes. Where some are open, what lies there may move with each call."""
    tensor: Callable[[], ov.Tensor]
    """What lies there now."""


class Step:
    """A compiled part and one request, which keeps the outputs until it is executed again."""

    def __init__(self, model: ov.Model, compiled: ov.CompiledModel) -> None:
        self.model = model
        """What was compiled."""
        self.compiled = compiled
        self.request = compiled.create_infer_request()
        self._inputs: Mapping[str, Place] = {}
        self._moving: Mapping[str, Place] = {}

    def read(self, inputs: Mapping[str, Place]) -> None:
        """Execute over these places from now on."""
        self._inputs = inputs
        self._moving = {name: place for name, place in inputs.items() if place.shape.is_dynamic}
        self._set({name: place for name, place in inputs.items() if name not in self._moving})

    def __call__(self) -> None:
        """Execute and wait; without `share_outputs` the Python layer would copy all outputs."""
        self._set(self._moving)
        self.request.infer(share_outputs=True)

    def outputs(self, names: Iterable[str]) -> dict[str, Place]:
        """The places of these outputs."""
        return {
            name: Place(self.compiled.output(name).partial_shape, partial(self._tensor, name))
            for name in names
        }

    @contextmanager
    def executing(self, compiled: ov.CompiledModel) -> Iterator[ov.InferRequest]:
        """Execute the same part, compiled in another way, with the request that this gives."""
        usual = self.request
        self.request = compiled.create_infer_request()
        try:
            self.read(self._inputs)
            yield self.request
        finally:
            self.request = usual

    def _set(self, places: Mapping[str, Place]) -> None:
        for name, place in places.items():
            self.request.set_tensor(name, place.tensor())

    def _tensor(self, name: str) -> ov.Tensor:
        return self.request.get_tensor(name)


def placed(array: npt.NDArray[np.generic]) -> Place:
    """The array where it lies on the host; copied only if it is not contiguous or not writeable."""
    tensor = ov.Tensor(np.require(array, requirements=["C", "W"]), shared_memory=True)
    return Place(ov.PartialShape(list(array.shape)), lambda: tensor)


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
