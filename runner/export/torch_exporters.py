"""Strategies of exporting a torch model, and its export to one ONNX file by one of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import onnx_ir
import torch
from transformers.exporters.configs import OnnxConfig
from transformers.exporters.exporter_onnx import OnnxExporter

from runner.backends.torch.model import fill_parameters, instantiate
from runner.backends.torch.query import named_tensors
from runner.contract.models import ModelSpec
from runner.export.model_patches import GRID, FixedGeometry, tabulate_buckets, without_geometry
from runner.export.onnx_files import save_model
from runner.inputs import Inputs

_OPSET = 18
"""The newest one for which torch's older exporter has every operator."""

Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Strategy:
    """One way to export a model."""

    dynamic: bool = False
    """Every axis may vary; else every size is fixed."""
    fixed_geometry: bool = False
    """Position and size of images are constant, see `model_patches`."""
    eager: bool = False
    """Attention is written out in matrix products instead of one operator."""
    script: bool = False
    """Torch's older exporter records one execution instead of tracing the program."""
    parts: bool = False
    """The model is split into parts, see `forward`."""

    @property
    def name(self) -> str:
        words = (
            "dynamic shapes" if self.dynamic else "static shape",
            "image geometry as constants" if self.fixed_geometry else "",
            "eager attention" if self.eager else "",
            "TorchScript exporter" if self.script else "",
            "parts: vision tower, language model" if self.parts else "",
        )
        return ", ".join(filter(None, words))


def whole_strategies(model: ModelSpec) -> tuple[Strategy, ...]:
    """One strategy for every size, then those that fix sizes, each with the one's before, too."""
    grid = _has_grid(model)
    return (
        Strategy(dynamic=True),
        Strategy(),
        *([Strategy(fixed_geometry=True)] if grid else []),
        Strategy(fixed_geometry=grid, eager=True),
        Strategy(fixed_geometry=grid, eager=True, script=True),
    )


def whole_or_split_strategies(model: ModelSpec) -> tuple[Strategy, ...]:
    """The same, and at last in parts, if a prompt holds an image for a vision tower."""
    if model.image_prompt is None:
        return whole_strategies(model)
    return (
        *whole_strategies(model),
        Strategy(fixed_geometry=_has_grid(model), eager=True, parts=True),
    )


def _has_grid(model: ModelSpec) -> bool:
    return any(tensor.name == GRID for tensor in model.inputs)


class _Positional(torch.nn.Module):
    """A model that takes positional tensors and returns the chosen outputs as a tuple."""

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
        outputs = dict(named_tensors(self._model(**named, **self._constants)))
        return tuple(outputs[name] for name in self._outputs)


def _export_by_script(
    model: torch.nn.Module,
    tensors: Mapping[str, torch.Tensor],
    constants: Mapping[str, bool],
    outputs: Sequence[str],
    path: Path,
) -> None:
    """Write the file, its weights beside it; every size is that of the tensors."""
    positional = _Positional(model, tuple(tensors), constants, outputs)
    with TemporaryDirectory(dir=path.parent) as folder, torch.no_grad():
        recorded = Path(folder) / path.name
        torch.onnx.export(
            positional.eval(),
            tuple(tensors.values()),
            recorded,
            input_names=list(tensors),
            output_names=list(outputs),
            opset_version=_OPSET,
            dynamo=False,
        )
        save_model(onnx_ir.load(recorded), path, outputs)


@dataclass(frozen=True)
class ExportSubject:
    """A model to be exported, with inputs to trace it."""

    model: ModelSpec
    seed: int
    dtype: torch.dtype
    inputs: Inputs
    others: Inputs
    """The same at another size on every axis that the model has."""
    outputs: tuple[str, ...]
    """The outputs to keep, by dotted path."""


def export_whole(subject: ExportSubject, strategy: Strategy, path: Path) -> None:
    model, tensors = build_model(subject, strategy)
    if strategy.script:
        return _export_by_script(model, tensors, subject.model.forward, subject.outputs, path)
    shapes = varying_dimensions(tensors, subject.others) if strategy.dynamic else None
    program = trace_model(model, {**tensors, **subject.model.forward}, shapes)
    return save_model(program, path, subject.outputs)


def trace_model(
    model: torch.nn.Module, arguments: Mapping[str, Any], shapes: Mapping[str, Any] | None
) -> onnx_ir.Model:
    """The graph of a call with these arguments; `shapes` holds the dimensions that may vary."""
    exporter: Any = OnnxExporter
    config = OnnxConfig(dynamic_shapes=None if shapes is None else dict(shapes))
    program, _ = exporter().export_program(model, dict(arguments), config)
    return cast("onnx_ir.Model", program)


def build_model(subject: ExportSubject, strategy: Strategy) -> tuple[torch.nn.Module, Tensors]:
    """The model with the weights that a torch session has, and the tensors that it takes."""
    model: Any = instantiate(subject.model, subject.dtype)
    fill_parameters(model, subject.seed)
    tabulate_buckets(model)
    if strategy.eager:
        model.set_attn_implementation("eager")
    tensors = {name: _tensor(value, subject.dtype) for name, value in subject.inputs.items()}
    if not strategy.fixed_geometry:
        return model, tensors
    return FixedGeometry(model, tensors).eval(), without_geometry(tensors)


def _tensor(value: Any, dtype: torch.dtype) -> torch.Tensor:
    tensor = torch.from_numpy(value)
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def varying_dimensions(tensors: Tensors, others: Inputs) -> dict[str, dict[int, Any]]:
    """The dimensions that differ between the two, by argument and index."""
    return {
        name: {
            index: torch.export.Dim.AUTO
            for index, sizes in enumerate(zip(tensor.shape, others[name].shape, strict=True))
            if len(set(sizes)) > 1
        }
        for name, tensor in tensors.items()
    }
