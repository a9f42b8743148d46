"""Writes and describes ONNX files whose weights lie beside them, so that no size is too large."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onnx
import onnx_ir
from onnx_ir.passes.common import RemoveUnusedNodesPass

from runner.graph import WEIGHTS_SUFFIX, GraphPart

BLOCK_BYTES = 1 << 22


def save(model: onnx_ir.Model, path: Path, outputs: Iterable[str]) -> None:
    """Write the model with these outputs alone."""
    prune(model, outputs)
    onnx_ir.save(model, path, external_data=f"{path.name}{WEIGHTS_SUFFIX}")


def prune(model: onnx_ir.Model, outputs: Iterable[str]) -> None:
    """Leave the model these outputs alone, and nothing that leads to no output, inputs included.

    Outputs that it lacks are not missed here but by the check.
    """
    wanted = set(outputs)
    kept = [value for value in model.graph.outputs if value.name in wanted]
    model.graph.outputs[:] = kept
    RemoveUnusedNodesPass()(model)
    model.graph.inputs[:] = [value for value in model.graph.inputs if value.uses()]


def describe(path: Path) -> GraphPart:
    """What the file and its weights hold."""
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
    return part.model_copy(update={"sha256": sha256_of(files), "size_bytes": size})


def sha256_of(files: Iterable[Path]) -> str:
    """Hash of the files' bytes, one file after the other."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
    return digest.hexdigest()
