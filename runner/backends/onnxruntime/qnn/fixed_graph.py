"""An ONNX graph whose sizes are all known, to be rewritten node by node."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper

_WEIGHTS_FILE = "session.optimized_model_external_initializers_file_name"
_DISABLED_PASSES = ("MatMulAddFusion",)
"""A pass left to the session that executes: there it fails on the names that it gave here."""


class FixedGraph:
    """The graph of a file, with its constants, and the shapes that its exporter has recorded."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._model = onnx.load_model(path, load_external_data=False)
        self.graph: Any = self._model.graph
        values = (*self.graph.input, *self.graph.value_info, *self.graph.output)
        self.constants: Mapping[str, Any] = {t.name: t for t in self.graph.initializer}
        """The initialisers, by name; their numbers are read on demand."""
        self.shapes = {value.name: _fixed_shape(value) for value in values}
        """The shapes of values; None where a size is not recorded."""
        types = {value.name: value.type.tensor_type.elem_type for value in values}
        self.booleans = {name for name, type_ in types.items() if type_ == TensorProto.BOOL}

    def save(self) -> None:
        self._path.write_bytes(self._model.SerializeToString())

    def constant(self, name: str) -> npt.NDArray[Any] | None:
        """The numbers of that initialiser; None if there is none, or of another type."""
        tensor = self.constants.get(name)
        if tensor is None or tensor.data_type not in (TensorProto.FLOAT, TensorProto.INT64):
            return None
        return numpy_helper.to_array(tensor, base_dir=str(self._path.parent))

    def nodes(self, operator: str) -> list[Any]:
        return [node for node in self.graph.node if node.op_type == operator]

    def consumers(self, name: str) -> list[Any]:
        return self._consumers.get(name, [])

    def producer(self, name: str) -> Any:
        """The node whose result that value is; None for what none computes."""
        return self._producers.get(name)

    def add_constant(self, name: str, values: npt.NDArray[Any]) -> str:
        """Add an initialiser, its numbers in the file itself; its name."""
        self.graph.initializer.append(numpy_helper.from_array(values, name))
        return name

    def add_node(
        self,
        beside: Any,
        operator: str,
        inputs: Sequence[str],
        output: str,
        *,
        behind: bool = False,
    ) -> None:
        """Add a node before or behind one of the graph's, which stand in the order of computing."""
        index = list(self.graph.node).index(beside) + behind
        self.graph.node.insert(index, onnx.helper.make_node(operator, inputs, [output]))

    @cached_property
    def _producers(self) -> Mapping[str, Any]:
        return {result: node for node in self.graph.node for result in node.output}

    @cached_property
    def _consumers(self) -> Mapping[str, list[Any]]:
        consumers: dict[str, list[Any]] = {}
        for node in self.graph.node:
            for name in node.input:
                consumers.setdefault(name, []).append(node)
        return consumers


def attribute_of(node: Any, name: str) -> Any:
    return next((attribute for attribute in node.attribute if attribute.name == name), None)


def write_fixed(model: Path, written: Path, sizes: Mapping[str, int]) -> None:
    """Write the graph with these sizes of its symbolic dimensions, its weights beside it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(written)
    options.add_session_config_entry(_WEIGHTS_FILE, f"{written.name}.data")
    for name, size in sizes.items():
        options.add_free_dimension_override_by_name(name, size)
    onnxruntime.InferenceSession(
        model,
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=list(_DISABLED_PASSES),
    )


def _fixed_shape(value: Any) -> tuple[int, ...] | None:
    sizes = tuple(size.dim_value for size in value.type.tensor_type.shape.dim)
    return sizes if all(sizes) else None
