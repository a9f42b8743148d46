"""Queries over inputs that lie on the device, executed with IO binding."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from onnxruntime import OrtValue

from runner.backends.graphs.forward import forward_pass
from runner.backends.graphs.generation import GraphGenerator
from runner.backends.graphs.outputs import Outputs
from runner.backends.graphs.parts import run_parts
from runner.backends.onnxruntime.device import OnnxDevice
from runner.backends.onnxruntime.graph import OnnxGraph, Sessions
from runner.contract.errors import Unsupported
from runner.contract.graph import Part
from runner.contract.models import ModelSpec
from runner.inputs import Inputs
from runner.measure.clock import Clock

Values = Mapping[str, Any]
"""ONNX Runtime's values by name; they may lie on an accelerator."""
Run = Callable[[], None]

FLOATS: Mapping[str, npt.DTypeLike] = {"tensor(float16)": np.float16, "tensor(float)": np.float32}
"""The floating-point types that a graph may declare for its inputs."""


class OnnxQuery:
    """A prepared graph over fixed inputs.

    The first call binds and lets the device allocate the outputs; later ones write into the same
    memory. So does the first call after the graph has got other sessions.
    """

    def __init__(self, opened: OnnxGraph, model: ModelSpec, inputs: Inputs) -> None:
        """Move the inputs to the device.

        Raises:
            Unsupported: the graph takes something else.
        """
        self.opened = opened
        self._graph, feeds = forward_pass(opened.graph, model, inputs)
        self.inputs: Values = _placed_all(feeds, opened)
        """The inputs that the graph takes, on the device."""
        self._outputs: Values = {}
        self._bound: Sessions | None = None
        self._runs: list[Run] = []

    @property
    def sessions(self) -> list[Any]:
        """Those that execute now; not that of a part which extends a cache."""
        return [self.opened.sessions[part] for part in self._graph.parts]

    def __call__(self) -> Values:
        """Execute every part and wait for the device."""
        if self._bound is self.opened.sessions:
            for run in self._runs:
                run()
        else:
            self._bind()
        return self._outputs

    def _bind(self) -> None:
        self._bound, self._runs = None, []
        sessions, device = self.opened.sessions, self.opened.device

        def binds(session: Any) -> Callable[[Values], Values]:
            def call(inputs: Values) -> Values:
                run, outputs = bind(session, inputs, device)
                self._runs.append(run)
                return outputs

            return call

        calls = {part: binds(sessions[part]) for part in self._graph.parts}
        self._outputs = run_parts(self._graph.takes, calls, self.inputs)
        self._bound = sessions


def bind(session: Any, inputs: Values, device: OnnxDevice) -> tuple[Run, Values]:
    """Execute once; what executes again over the same inputs, and the outputs it writes to."""
    binding = session.io_binding()
    for argument in session.get_inputs():
        binding.bind_ortvalue_input(argument.name, inputs[argument.name])
    names = [output.name for output in session.get_outputs()]
    for name in names:
        binding.bind_output(name, device.memory, device.index)
    binding.synchronize_inputs()

    def run() -> None:
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()

    run()
    outputs = dict(zip(names, binding.get_outputs(), strict=True))
    for name, value in outputs.items():
        binding.bind_ortvalue_output(name, value)
    return run, outputs


def placed(array: npt.NDArray[np.generic], declared: str, device: OnnxDevice) -> Any:
    """The array as a value on the device; floating-point numbers in the declared type.

    Raises:
        Unsupported: the graph declares another kind of number.
    """
    if np.issubdtype(array.dtype, np.floating):
        if declared not in FLOATS:
            raise Unsupported(f"the graph declares {declared} where the input is {array.dtype}")
        array = array.astype(FLOATS[declared], copy=False)
    return OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array), device.memory, device.index)


def on_host(values: Values) -> Outputs:
    """The values as arrays on the host."""
    return {name: value.numpy() for name, value in values.items()}


def _placed_all(inputs: Inputs, opened: OnnxGraph) -> dict[str, Any]:
    """The inputs that some part declares."""
    declared = {
        argument.name: argument.type
        for session in opened.sessions.values()
        for argument in session.get_inputs()
    }
    return {
        name: placed(array, declared[name], opened.device)
        for name, array in inputs.items()
        if name in declared
    }


def generator(
    opened: OnnxGraph, model: ModelSpec, inputs: Inputs, new_tokens: int, clock: Clock
) -> GraphGenerator:
    """The decode loop over the graph's parts.

    Raises:
        Unsupported: the graph has no part that extends a cache.
    """
    executors = {name: OnnxExecutor(opened, name) for name in opened.graph.parts}
    return GraphGenerator(model, opened.graph, executors, inputs, new_tokens, clock)


class OnnxExecutor:
    """Executes a part with IO binding; its outputs are new values, which stay on the device."""

    def __init__(self, opened: OnnxGraph, part: Part) -> None:
        self._opened = opened
        self._part = part
        self._session = opened.sessions[part]
        self._binding = self._session.io_binding()
        self._types = {value.name: value.type for value in self._session.get_inputs()}
        self._outputs = [value.name for value in self._session.get_outputs()]

    def place(self, name: str, array: npt.NDArray[np.generic]) -> object:
        """The array in the declared type, on the device."""
        return placed(array, self._types[name], self._opened.device)

    def __call__(self, feeds: Mapping[str, object]) -> Mapping[str, object]:
        """Execute over these values; what was given before stays where it is."""
        self._follow()
        for name, value in feeds.items():
            self._binding.bind_ortvalue_input(name, value)
        self._binding.clear_binding_outputs()
        for name in self._outputs:
            self._binding.bind_output(name, self._opened.device.memory, self._opened.device.index)
        self._session.run_with_iobinding(self._binding)
        return dict(zip(self._outputs, self._binding.get_outputs(), strict=True))

    def read(self, value: Any) -> npt.NDArray[Any]:
        """The value on the host; a run ends as the device has finished."""
        array: npt.NDArray[Any] = value.numpy()
        return array

    def _follow(self) -> None:
        """Execute on the sessions that the graph has now."""
        session = self._opened.sessions[self._part]
        if session is not self._session:
            self._session, self._binding = session, session.io_binding()
