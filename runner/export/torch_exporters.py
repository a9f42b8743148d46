"""Strategies of exporting a torch model, its patches, and its export to one ONNX file.

Qwen-VL models loop over `image_grid_thw` in Python, which no exporter can trace: for one shape the
grid is known, with the patches' positions and bounds and the tokens' positions that follow from it.
LLaVA models crop by `image_sizes`, which can be traced if they are numbers. T5 sorts distances by a
logarithm, by which a runtime in bf16 puts some into the bucket beside: a table has no such step.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import getattr_static
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import onnx_ir
import torch
from transformers.exporters.configs import OnnxConfig
from transformers.exporters.exporter_onnx import OnnxExporter
from transformers.exporters.utils import precompute_export_inputs

from runner.backends.torch.model import fill_parameters, instantiate
from runner.backends.torch.query import named_tensors
from runner.contract.models import ModelSpec
from runner.export.onnx_files import save_model
from runner.inputs import Inputs

_OPSET = 18
"""The newest one for which torch's older exporter has every operator."""
_GRID = "image_grid_thw"
IMAGE_SIZES = "image_sizes"
_CONSTANT = (_GRID, "mm_token_type_ids")
"""Arguments about the position and size of images, not about their content."""
_BUCKETS = "_relative_position_bucket"
"""T5's function that sorts distances; models derived from it in transformers have a copy."""

Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Strategy:
    """One way to export a model."""

    dynamic: bool = False
    """Every axis may vary; else every size is fixed."""
    fixed_geometry: bool = False
    """Position and size of images are constant, see `FixedGeometry`."""
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
    return any(tensor.name == _GRID for tensor in model.inputs)


class FixedGeometry(torch.nn.Module):
    """The model for images and prompts laid out as in one sample; prompts may be padded behind."""

    def __init__(self, model: Any, sample: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self.model = model
        self.config = model.config
        self._tower = {"grid_thw": sample[_GRID], "hidden_states": sample["pixel_values"]}
        precompute_export_inputs(model.model.visual, self._tower)
        del self._tower["hidden_states"]
        tokens = {name: value for name, value in sample.items() if name != "pixel_values"}
        precompute_export_inputs(model.model, tokens)
        self._position_ids = tokens["position_ids"]

    def see(self, pixel_values: torch.Tensor) -> Any:
        """The vision tower's features of the images, as `get_image_features` returns."""
        seen = self.model.model.visual(hidden_states=pixel_values, **self._tower)
        seen.pooler_output = (seen.pooler_output,)
        if getattr(seen, "deepstack_features", None) is not None:
            seen.deepstack_features = [(features,) for features in seen.deepstack_features]
        return seen

    def positions(self, attention_mask: torch.Tensor | None) -> torch.Tensor:
        if attention_mask is None:
            return self._position_ids
        return self._position_ids * attention_mask

    def forward(
        self,
        pixel_values: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        **arguments: Any,
    ) -> Any:
        return self.model(
            **arguments,
            attention_mask=attention_mask,
            position_ids=self.positions(attention_mask),
            mm_encoder_outputs={"image": self.see(pixel_values)},
        )


def as_numbers(sizes: torch.Tensor) -> list[tuple[int, ...]]:
    """Sizes of images as numbers, which an exporter takes for constants."""
    return [tuple(size) for size in sizes.tolist()]


def tabulate_buckets(model: torch.nn.Module) -> None:
    """Let modules that sort distances as T5 does look them up in a table of their own results."""
    for module in model.modules():
        if isinstance(getattr_static(module, _BUCKETS, None), staticmethod):
            setattr(module, _BUCKETS, _tabulated(module))


def _tabulated(module: Any) -> Callable[..., torch.Tensor]:
    """The module's function by tables; distances beyond the farthest share its bucket."""
    farthest = module.relative_attention_max_distance
    sizes = {"num_buckets": module.relative_attention_num_buckets, "max_distance": farthest}
    compute, known = getattr(module, _BUCKETS), torch.arange(-farthest, farthest + 1)
    tables: dict[bool, torch.Tensor] = {
        both: compute(known, bidirectional=both, **sizes) for both in (True, False)
    }

    def look_up(distances: torch.Tensor, bidirectional: bool, **_: int) -> torch.Tensor:
        return tables[bidirectional][distances.clamp(-farthest, farthest) + farthest]

    return look_up


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
    tensors = {name: torch.from_numpy(value) for name, value in subject.inputs.items()}
    floating = {name: t.to(subject.dtype) for name, t in tensors.items() if t.is_floating_point()}
    tensors |= floating
    if not strategy.fixed_geometry:
        return model, tensors
    others = {name: tensor for name, tensor in tensors.items() if name not in _CONSTANT}
    return FixedGeometry(model, tensors).eval(), others


def varying_dimensions(tensors: Tensors, others: Inputs) -> dict[str, dict[int, Any]]:
    return {
        name: {
            index: torch.export.Dim.AUTO
            for index, sizes in enumerate(zip(tensor.shape, others[name].shape, strict=True))
            if len(set(sizes)) > 1
        }
        for name, tensor in tensors.items()
    }
