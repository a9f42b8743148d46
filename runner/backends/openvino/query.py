"""Requests of OpenVINO: a query over all parts of a graph, and an executor of one part."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import openvino as ov

from runner.backends.graphs.session import Outputs


@dataclass(frozen=True)
class Slot:
    """The memory of a value: an input of a query, or an output of a part."""

    tensor: Callable[[], ov.Tensor]
    shape: ov.PartialShape
    moves: bool = False
    """True if the tensor may be another one after each call."""


class PartRequest:
    """A compiled part and one request, which keeps the outputs until it is executed again."""

    def __init__(self, model: ov.Model, compiled: ov.CompiledModel) -> None:
        self.model = model
        self.compiled = compiled
        self.request: Any = compiled.create_infer_request()
        self._inputs: Mapping[str, Slot] = {}
        self._moving: Mapping[str, Slot] = {}

    def read(self, inputs: Mapping[str, Slot]) -> None:
        self._inputs = inputs
        self._moving = {name: slot for name, slot in inputs.items() if slot.moves}
        self._set({name: slot for name, slot in inputs.items() if name not in self._moving})

    def __call__(self) -> None:
        """Execute and wait; without `share_outputs` the Python layer would copy all outputs."""
        self._set(self._moving)
        self.request.infer(share_outputs=True)

    def outputs(self, names: Iterable[str]) -> dict[str, Slot]:
        shapes = {name: self.compiled.output(name).partial_shape for name in names}
        return {
            name: Slot(partial(self._tensor, name), shape, shape.is_dynamic)
            for name, shape in shapes.items()
        }

    @contextmanager
    def executing(self, request: Any) -> Iterator[None]:
        """Execute by a request of the same part, compiled with other options, in the context."""
        usual = self.request
        self.request = request
        try:
            self.read(self._inputs)
            yield
        finally:
            self.request = usual

    def _set(self, slots: Mapping[str, Slot]) -> None:
        for name, slot in slots.items():
            self.request.set_tensor(name, slot.tensor())

    def _tensor(self, name: str) -> ov.Tensor:
        return self.request.get_tensor(name)


def to_slot(array: npt.NDArray[np.generic]) -> Slot:
    """The array in host memory; copied only if it is not contiguous or not writeable."""
    tensor = ov.Tensor(np.require(array, requirements=["C", "W"]), shared_memory=True)
    return Slot(lambda: tensor, ov.PartialShape(list(array.shape)))


class GraphQuery:
    """Parts that execute one after the other over fixed inputs."""

    def __init__(
        self,
        requests: Iterable[PartRequest],
        outputs: Mapping[str, Slot],
        idle: Iterable[ov.CompiledModel] = (),
    ) -> None:
        self.requests = tuple(requests)
        self._outputs = outputs
        self._idle = tuple(idle)

    @property
    def compiled(self) -> tuple[ov.CompiledModel, ...]:
        """Every compiled part of the graph, with those that the query does not execute."""
        return (*(request.compiled for request in self.requests), *self._idle)

    def __call__(self) -> Mapping[str, Slot]:
        for request in self.requests:
            request()
        return self._outputs


class PartExecutor:
    """One part over changing inputs; two requests take turns, so that each reads the other's."""

    def __init__(self, requests: Iterable[PartRequest], outputs: tuple[str, ...]) -> None:
        self.requests = tuple(requests)
        self._turns = [(request, request.outputs(outputs)) for request in self.requests]

    def place(self, name: str, array: npt.NDArray[np.generic]) -> Slot:
        del name
        return to_slot(array)

    def __call__(self, feeds: Mapping[str, Any]) -> Mapping[str, Slot]:
        """Execute over these slots; the outputs last until the request has its next turn."""
        self._turns.reverse()
        request, outputs = self._turns[0]
        request.read(feeds)
        request()
        return outputs

    def read(self, value: Any) -> npt.NDArray[Any]:
        """An output; the device has finished when a call returns."""
        return np.asarray(value.tensor().data)


def identity_query(model: ov.Model, compiled: ov.CompiledModel) -> GraphQuery:
    request = PartRequest(model, compiled)
    (name,) = compiled.input(0).get_names()
    request.read({name: to_slot(np.zeros(1, dtype=np.float32))})
    return GraphQuery([request], request.outputs([name]))


def to_arrays(outputs: Any) -> Outputs:
    return {name: slot.tensor().data for name, slot in outputs.items()}
