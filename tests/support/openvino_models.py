"""Jobs on OpenVINO over graphs of a few nodes, and models that are made of its own operators."""

from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as operators

from runner.contract.cell import Cell
from runner.contract.job import Job
from tests.support.onnx_graphs import onnx_cell, onnx_job

GROWING = -1


class FakeCompiled:
    """A compiled model that answers for these properties and no others."""

    def __init__(self, **properties: object) -> None:
        self._properties = properties

    def get_property(self, name: str) -> object:
        """The property, or the names of all."""
        if name == "SUPPORTED_PROPERTIES":
            return dict.fromkeys(self._properties, "RO")
        return self._properties[name]


def openvino_cell(batch_size: int = 1, **changes: Any) -> Cell:
    """A cell of the model `perceptron` on OpenVINO."""
    return onnx_cell(batch_size, **{"backend": "openvino", "runtime": "openvino", **changes})


def openvino_job(*cells: Cell, **changes: Any) -> Job:
    """A job of such cells over the graph `perceptron`."""
    return onnx_job(*(cells or (openvino_cell(),)), **changes)


def doubling() -> ov.Model:
    """Gives `y`, twice `x`, of shape [?, 2]."""
    x = operators.parameter([GROWING, 2], np.float32, name="x")
    y = operators.add(x, x)
    y.output(0).set_names({"y"})
    return ov.Model([operators.result(y)], [x], "doubling")


def remembering() -> ov.Model:
    """Gives `after`: what it took as `before` with `x` behind it, both of shape [1, ?]."""
    before = operators.parameter([1, GROWING], np.float32, name="before")
    x = operators.parameter([1, GROWING], np.float32, name="x")
    after = operators.concat([before, x], axis=1)
    after.output(0).set_names({"after"})
    return ov.Model([operators.result(after)], [before, x], "remembering")
