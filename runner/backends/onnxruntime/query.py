"""Queries over inputs that lie on the device, executed with IO binding."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnxruntime import OrtValue

from runner.backends.base import Query
from runner.backends.graphs.feeds import forward_pass
from runner.backends.graphs.session import Outputs
from runner.backends.onnxruntime.device import OnnxDevice, cpu_device
from runner.backends.onnxruntime.sessions import (
    OnnxGraph,
    Sessions,
    create_session,
    session_options,
)
from runner.contract.errors import Unsupported
from runner.contract.graph import Part
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason
from runner.inputs import Inputs

OrtValues = Mapping[str, Any]
"""ONNX Runtime's values by name; they may lie on an accelerator."""
_FLOAT_TYPES: Mapping[str, npt.DTypeLike] = {
    "tensor(float16)": np.float16,
    "tensor(float)": np.float32,
}
"""The floating-point types that a graph may declare for its inputs."""
_EMPTY_GRAPH = Path(__file__).with_name("empty.onnx")


class OnnxQuery:
    """A prepared graph over inputs that are bound anew when the graph has got other sessions."""

    def __init__(self, opened: OnnxGraph, model: ModelSpec, inputs: Inputs) -> None:
        self.opened = opened
        self._graph, feeds = forward_pass(opened.graph, model, inputs)
        sessions = opened.sessions.values()
        declared = {value.name: value.type for s in sessions for value in s.get_inputs()}
        self.inputs: OrtValues = {
            name: to_device(array, declared[name], opened.device)
            for name, array in feeds.items()
            if name in declared
        }
        self._bound: Sessions | None = None
        self._parts: list[BoundPart] = []

    @property
    def sessions(self) -> list[Any]:
        """The sessions that execute now, without that of a part that extends a cache."""
        return [self.opened.sessions[part] for part in self._graph.parts]

    def __call__(self) -> OrtValues:
        if self._bound is not self.opened.sessions:
            device = self.opened.device
            self._parts = [BoundPart(session, self.inputs, device) for session in self.sessions]
            self._bound = self.opened.sessions
        known: dict[str, Any] = {}
        outputs: dict[str, Any] = {}
        for part in self._parts:
            given = part(known)
            known |= given
            outputs = {name: outputs[name] for name in outputs if name not in part.taken} | given
        return outputs


class BoundPart:
    """A session with some inputs bound; the others come with each call."""

    def __init__(self, session: Any, inputs: OrtValues, device: OnnxDevice) -> None:
        self.session = session
        self._device = device
        self._binding = session.io_binding()
        taken = [argument.name for argument in session.get_inputs()]
        for name in taken:
            if name in inputs:
                self._binding.bind_ortvalue_input(name, inputs[name])
        self.taken = tuple(name for name in taken if name not in inputs)
        self._names = [output.name for output in session.get_outputs()]
        self._bind_outputs()
        self._binding.synchronize_inputs()

    def __call__(self, given: OrtValues) -> dict[str, Any]:
        """Execute into the values of the call before, which a binding keeps."""
        outputs = self._execute(given)
        self._binding.synchronize_outputs()
        return outputs

    def execute_anew(self, given: OrtValues) -> dict[str, Any]:
        """Execute into new values: those of the call before may be given."""
        self._bind_outputs()
        return self._execute(given)

    def _bind_outputs(self) -> None:
        for name in self._names:
            self._binding.bind_output(name, self._device.memory, self._device.index)

    def _execute(self, given: OrtValues) -> dict[str, Any]:
        for name in self.taken:
            self._binding.bind_ortvalue_input(name, given[name])
        self.session.run_with_iobinding(self._binding)
        return dict(zip(self._names, self._binding.get_outputs(), strict=True))


def to_device(array: npt.NDArray[np.generic], declared: str, device: OnnxDevice) -> Any:
    """The array as a value on the device; floating-point numbers in the declared type."""
    if np.issubdtype(array.dtype, np.floating):
        if declared not in _FLOAT_TYPES:
            raise Unsupported(reason("graph_type_differs", declared=declared, given=array.dtype))
        array = array.astype(_FLOAT_TYPES[declared], copy=False)
    return OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array), device.memory, device.index)


def to_host(values: OrtValues) -> Outputs:
    return {name: value.numpy() for name, value in values.items()}


def with_copies(query: OnnxQuery) -> Callable[[], Outputs]:
    """The query, which copies inputs from the host to where they are bound, and outputs back."""
    arrays = {name: array.copy() for name, array in to_host(query.inputs).items()}

    def call() -> Outputs:
        for name, array in arrays.items():
            query.inputs[name].update_inplace(array)
        return to_host(query())

    return call


class OnnxExecutor:
    """Executes a part by the session that the graph has now; its outputs stay on the device."""

    def __init__(self, opened: OnnxGraph, part: Part) -> None:
        self._opened = opened
        self._part = part
        self._bound = BoundPart(opened.sessions[part], {}, opened.device)
        self._types = {value.name: value.type for value in self._bound.session.get_inputs()}

    def place(self, name: str, array: npt.NDArray[np.generic]) -> object:
        return to_device(array, self._types[name], self._opened.device)

    def __call__(self, feeds: Mapping[str, object]) -> Mapping[str, object]:
        session = self._opened.sessions[self._part]
        if session is not self._bound.session:
            self._bound = BoundPart(session, {}, self._opened.device)
        return self._bound.execute_anew(feeds)

    def read(self, value: Any) -> npt.NDArray[Any]:
        """The value on the host; a run ends as the device has finished."""
        array: npt.NDArray[Any] = value.numpy()
        return array


def empty_query() -> Query:
    """A query over a graph of one node, `Identity` of one number, bound on the CPU as any other."""
    device = cpu_device()
    session = create_session(_EMPTY_GRAPH, device, lambda _: session_options(threads=1))
    inputs = {"x": to_device(np.ones(1, np.float32), "tensor(float)", device)}
    part = BoundPart(session, inputs, device)
    return lambda: part({})
