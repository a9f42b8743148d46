"""Write and describe ONNX files whose weights lie beside them, so that no size is too large."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import onnx
import onnx_ir
from onnx_ir.external_data import convert_tensors_to_external
from onnx_ir.passes.common import RemoveUnusedNodesPass

from runner.contract.graph import PART_WEIGHTS_SUFFIX, GraphPart

_BLOCK_BYTES = 1 << 22
_LEAST_BYTES = 256
"""Smaller tensors stay in the files that need them."""
_Key = tuple[str, tuple[object, ...], str]


def save_model(model: onnx_ir.Model, path: Path, outputs: Iterable[str]) -> None:
    keep_outputs(model, outputs)
    onnx_ir.save(model, path, external_data=f"{path.name}{PART_WEIGHTS_SUFFIX}")


def keep_outputs(model: onnx_ir.Model, outputs: Iterable[str]) -> None:
    """Keep these outputs, as far as there are any, with the nodes and inputs that lead there."""
    wanted = set(outputs)
    kept = [value for value in model.graph.outputs if value.name in wanted]
    model.graph.outputs[:] = kept
    RemoveUnusedNodesPass()(model)
    model.graph.inputs[:] = [value for value in model.graph.inputs if value.uses()]


def describe_part(path: Path) -> GraphPart:
    graph: Any = onnx.load_model(path, load_external_data=False).graph
    part = GraphPart(
        file=path.name,
        sha256="",
        size_bytes=0,
        inputs=tuple(value.name for value in graph.input),
        outputs=tuple(value.name for value in graph.output),
    )
    files = part.files(path.parent)
    size = sum(file.stat().st_size for file in files)
    return part.model_copy(update={"sha256": sha256_of_files(files), "size_bytes": size})


def sha256_of_files(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    return digest.hexdigest()


def save_sharing(models: Mapping[Path, onnx_ir.Model], weights: Path) -> None:
    """Write models into the folder of their weights; equal tensors are written once."""
    places: dict[_Key, list[onnx_ir.Value]] = {}
    tensors: dict[_Key, Any] = {}
    for model in models.values():
        for value in model.graph.initializers.values():
            tensor: Any = value.const_value
            if tensor is None or tensor.nbytes < _LEAST_BYTES:
                continue
            digest = hashlib.sha256(tensor.tobytes()).hexdigest()
            key = (tensor.dtype.name, tuple(tensor.shape), digest)
            places.setdefault(key, []).append(value)
            tensors.setdefault(key, tensor)
    written = convert_tensors_to_external(list(tensors.values()), weights.parent, weights.name)
    for key, tensor in zip(tensors, written, strict=True):
        for value in places[key]:
            value.const_value = _named(tensor, value.name)
    for path, model in models.items():
        onnx_ir.save(model, path)


def _named(tensor: onnx_ir.ExternalTensor, name: str | None) -> onnx_ir.ExternalTensor:
    return onnx_ir.ExternalTensor(
        tensor.location,
        tensor.offset,
        tensor.length,
        tensor.dtype,
        shape=tensor.shape,
        name=name or "",
        base_dir=tensor.base_dir,
    )
