"""Keeps the weights that several ONNX files have in common in one file beside them."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx_ir
from onnx_ir.external_data import convert_tensors_to_external

LEAST_BYTES = 256
"""Smaller tensors stay in the files that need them."""

Key = tuple[str, tuple[object, ...], str]


def save_sharing(models: Mapping[Path, onnx_ir.Model], weights: Path) -> None:
    """Write the models; tensors that are equal byte for byte are written once.

    The files must lie in the folder of the weights: ONNX knows these by a relative name.
    """
    places: dict[Key, list[onnx_ir.Value]] = {}
    tensors: dict[Key, Any] = {}
    for model in models.values():
        for value, tensor in _large(model):
            key = _key(tensor)
            places.setdefault(key, []).append(value)
            tensors.setdefault(key, tensor)
    written = convert_tensors_to_external(list(tensors.values()), weights.parent, weights.name)
    for key, tensor in zip(tensors, written, strict=True):
        for value in places[key]:
            value.const_value = _named(tensor, value.name)
    for path, model in models.items():
        onnx_ir.save(model, path)


def _large(model: onnx_ir.Model) -> Iterator[tuple[onnx_ir.Value, Any]]:
    for value in model.graph.initializers.values():
        if value.const_value is not None and value.const_value.nbytes >= LEAST_BYTES:
            yield value, value.const_value


def _key(tensor: Any) -> Key:
    digest = hashlib.sha256(tensor.tobytes()).hexdigest()
    return tensor.dtype.name, tuple(tensor.shape), digest


def _named(tensor: onnx_ir.ExternalTensor, name: str | None) -> onnx_ir.ExternalTensor:
    """The same bytes as the initializer of that name."""
    return onnx_ir.ExternalTensor(
        tensor.location,
        tensor.offset,
        tensor.length,
        tensor.dtype,
        shape=tensor.shape,
        name=name or "",
        base_dir=tensor.base_dir,
    )
