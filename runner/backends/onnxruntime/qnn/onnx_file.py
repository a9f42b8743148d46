"""ONNX files read and written with protobuf alone, where the package onnx is not installed.

Only the fields that are needed here are described; all others stay in the messages unseen.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "accelmatrix.onnx"
FIELDS: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "Attribute": {
        "name": (1, "string"),
        "f": (2, "float"),
        "i": (3, "int64"),
        "s": (4, "bytes"),
        "ints": (8, "int64*"),
    },
    "Node": {
        "input": (1, "string*"),
        "output": (2, "string*"),
        "op_type": (4, "string"),
        "attribute": (5, "Attribute*"),
    },
    "Entry": {"key": (1, "string"), "value": (2, "string")},
    "Tensor": {
        "dims": (1, "int64*"),
        "data_type": (2, "int32"),
        "float_data": (4, "float*"),
        "int64_data": (7, "int64*"),
        "name": (8, "string"),
        "raw_data": (9, "bytes"),
        "external_data": (13, "Entry*"),
    },
    "Dimension": {"dim_value": (1, "int64")},
    "Shape": {"dim": (1, "Dimension*")},
    "TensorType": {"elem_type": (1, "int32"), "shape": (2, "Shape")},
    "Type": {"tensor_type": (1, "TensorType")},
    "Value": {"name": (1, "string"), "type": (2, "Type")},
    "Graph": {
        "node": (1, "Node*"),
        "initializer": (5, "Tensor*"),
        "input": (11, "Value*"),
        "output": (12, "Value*"),
        "value_info": (13, "Value*"),
    },
    "Model": {"graph": (7, "Graph")},
}
"""Messages of onnx.proto: number and type of each field, with an asterisk where it is repeated."""

NUMBERS: Mapping[int, type[np.generic]] = {1: np.float32, 7: np.int64}
"""The numbers of tensors that can be read, by ONNX's code."""
CODES = {np.dtype(kind): code for code, kind in NUMBERS.items()}


def read_model(path: Path) -> Any:
    """The model; its weights may lie beside it."""
    return _class("Model").FromString(path.read_bytes())


def values_of(tensor: Any, folder: Path) -> npt.NDArray[Any] | None:
    """The tensor's numbers; None for kinds that nobody asks for.

    Args:
        tensor: an initialiser.
        folder: where the file lies that may hold its numbers.
    """
    kind = NUMBERS.get(tensor.data_type)
    if kind is None:
        return None
    if tensor.external_data:
        told = {entry.key: entry.value for entry in tensor.external_data}
        with (folder / told["location"]).open("rb") as file:
            file.seek(int(told.get("offset", 0)))
            raw = file.read(int(told["length"]))
    else:
        raw = tensor.raw_data
    flat = np.frombuffer(raw, kind) if raw else np.array(_listed(tensor), kind)
    return flat.reshape(tuple(tensor.dims))


def add_values(graph: Any, name: str, values: npt.NDArray[Any]) -> str:
    """Add an initialiser, its numbers in the file itself; its name."""
    graph.initializer.add(
        name=name, dims=values.shape, data_type=CODES[values.dtype], raw_data=values.tobytes()
    )
    return name


def add_node(
    graph: Any, beside: Any, kind: str, inputs: Sequence[str], output: str, *, behind: bool = False
) -> None:
    """Add a node before or behind one of the graph's, which stand in the order of computing."""
    place = list(graph.node).index(beside) + behind
    graph.node.add(op_type=kind, input=inputs, output=[output])
    graph.node.insert(place, graph.node.pop())


def attribute_of(node: Any, name: str) -> Any:
    """The node's attribute of that name; None if it has none."""
    return next((each for each in node.attribute if each.name == name), None)


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The value's shape; None if it is not known whole."""
    sizes = tuple(size.dim_value for size in value.type.tensor_type.shape.dim)
    return sizes if all(sizes) else None


def _listed(tensor: Any) -> Any:
    return tensor.float_data if tensor.data_type == 1 else tensor.int64_data


@cache
def _class(name: str) -> Any:
    """The Python class of a message."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_described())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))


def _described() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="onnx.proto", package=PACKAGE, syntax="proto2")
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in FIELDS.items():
        message = file.message_type.add(name=name)
        for field, (number, told) in fields.items():
            kind = told.removesuffix("*")
            described = message.field.add(name=field, number=number)
            described.label = kinds.LABEL_REPEATED if told != kind else kinds.LABEL_OPTIONAL
            if kind in FIELDS:
                described.type_name = f".{PACKAGE}.{kind}"
            described.type = getattr(kinds, f"TYPE_{'MESSAGE' if kind in FIELDS else kind.upper()}")
    return file
