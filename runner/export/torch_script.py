"""Torch's older exporter, which records one execution where the newer one cannot trace."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx_ir
import torch

from runner.backends.torch_outputs import named_tensors
from runner.export.onnx_file import save

OPSET = 18
"""The newest one for which this exporter has every operator."""


class _Positional(torch.nn.Module):
    """A model that takes tensors by place and gives the chosen outputs as a tuple."""

    def __init__(
        self,
        model: Any,
        arguments: Sequence[str],
        constants: Mapping[str, bool],
        outputs: Sequence[str],
    ) -> None:
        super().__init__()
        self._model = model
        self._arguments = arguments
        self._constants = constants
        self._outputs = outputs

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        named = dict(zip(self._arguments, tensors, strict=True))
        found = dict(named_tensors(self._model(**named, **self._constants)))
        return tuple(found[name] for name in self._outputs)


def record(
    model: torch.nn.Module,
    tensors: Mapping[str, torch.Tensor],
    constants: Mapping[str, bool],
    outputs: Sequence[str],
    path: Path,
) -> None:
    """Write the file, its weights beside it; every size is that of the tensors.

    Raises:
        Exception: whatever the exporter raises.
    """
    positional = _Positional(model, tuple(tensors), constants, outputs)
    with TemporaryDirectory(dir=path.parent) as folder, torch.no_grad():
        recorded = Path(folder) / path.name
        torch.onnx.export(
            positional.eval(),
            tuple(tensors.values()),
            recorded,
            input_names=list(tensors),
            output_names=list(outputs),
            opset_version=OPSET,
            dynamo=False,
        )
        save(onnx_ir.load(recorded), path, outputs)
