"""One part of a generation's graph, executed by ONNX Runtime step by step."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.backends.graph_generation import GraphGenerator
from runner.backends.onnxruntime_graph import OnnxGraph
from runner.backends.onnxruntime_query import placed
from runner.graph import Part
from runner.inputs import Inputs
from runner.measure.clock import Clock
from runner.models import ModelSpec


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
