"""Keeps attention masks from spoiling the ranges of quantised numbers."""

from pathlib import Path

import numpy as np
import onnx_ir

from runner.graph import WEIGHTS_SUFFIX

MASKED = -100.0
"""What stands for minus infinity: far below any score, and e^-100 of a probability is none."""
HOPELESS = -1e30
"""Numbers below this one can only mean minus infinity."""


def bound_masks(path: Path) -> None:
    """Replace constants that mean minus infinity, in a file that is to be quantised.

    Transformers masks with the least fp32 number. One range that holds it and the scores has steps
    of 5e33, which leaves nothing of the scores.
    """
    model = onnx_ir.load(path)
    for value in model.graph.initializers.values():
        if value.const_value is not None and value.const_value.dtype == onnx_ir.DataType.FLOAT:
            value.const_value = _bounded(value.const_value)
    for node in model.graph:
        if node.op_type == "Constant" and "value" in node.attributes:
            tensor = node.attributes["value"].as_tensor()
            if tensor.dtype == onnx_ir.DataType.FLOAT:
                node.attributes.add(onnx_ir.AttrTensor("value", _bounded(tensor)))
    onnx_ir.save(model, path, external_data=f"{path.name}{WEIGHTS_SUFFIX}")


def _bounded(tensor: onnx_ir.TensorProtocol) -> onnx_ir.TensorProtocol:
    numbers = tensor.numpy()
    if not (numbers < HOPELESS).any():
        return tensor
    return onnx_ir.tensor(
        np.where(numbers < HOPELESS, np.float32(MASKED), numbers), name=tensor.name
    )
