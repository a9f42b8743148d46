"""Export a forward pass as one ONNX file, or as one for each part of the model."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import onnx_ir
import torch

from runner.contract.graph import PART_WEIGHTS_SUFFIX, NumberFormat, Part
from runner.contract.models import ModelSpec
from runner.export.check import Sample, largest_difference, parts_evaluator
from runner.export.graphs import Files, GraphExport
from runner.export.onnx_files import keep_outputs, save_sharing
from runner.export.torch_exporters import (
    IMAGE_SIZES,
    ExportSubject,
    FixedGeometry,
    Strategy,
    Tensors,
    as_numbers,
    build_model,
    export_whole,
    trace_model,
    whole_or_split_strategies,
)

_FEATURES = "image_features"
_DEEPER = "deepstack_features"
"""Features of some vision towers for the language model's first layers, beside its input."""
_EMBEDS = "inputs_embeds"
_PLACES = "image_places"
"""The tokens of the prompt that stand for the image."""
_FILE = "forward.onnx"
_Part = tuple[Part, torch.nn.Module, tuple[str, ...]]
"""A part, its module, and the names of its inputs, of which some may be missing."""


class _Layout(NamedTuple):
    """A vision-language model and the functions of its parts."""

    model: Any
    see: Callable[[torch.Tensor], Any]
    """Returns what `get_image_features` returns for pixels, all else being constant."""
    positions: Callable[[torch.Tensor | None], torch.Tensor | None]
    """Returns the positions of the tokens under a mask; None if they are one behind the other."""


class _Piece(torch.nn.Module):
    """Base of the parts: each holds the whole model, and an export drops what is not used."""

    def __init__(self, layout: _Layout) -> None:
        super().__init__()
        self.model = layout.model
        self.config = layout.model.config
        self.layout = layout
        self.eval()


class _Vision(_Piece):
    """The vision tower and the projection behind it."""

    def forward(self, pixel_values: torch.Tensor) -> dict[str, Any]:
        outputs = self.layout.see(pixel_values)
        features = torch.cat(outputs.pooler_output)
        deeper = getattr(outputs, _DEEPER, None) or ()
        return {
            _FEATURES: features,
            "image_hidden_states": features,
            _DEEPER: [torch.cat(layer) for layer in deeper],
        }


class _Embed(_Piece):
    """The prompt as vectors, with those of the image at its tokens."""

    def forward(
        self, input_ids: torch.Tensor, image_features: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        words = self.model.get_input_embeddings()(input_ids)
        mask = input_ids == self.config.image_token_id
        return {_EMBEDS: words.masked_scatter(mask.unsqueeze(-1), image_features), _PLACES: mask}


class _Language(_Piece):
    """The language model and its head."""

    def forward(
        self,
        image_places: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        deepstack_features: list[torch.Tensor] | None = None,
        **arguments: torch.Tensor,
    ) -> dict[str, torch.Tensor]:
        deeper: dict[str, Any] = {}
        if deepstack_features:
            deeper["visual_pos_masks"] = image_places
            deeper["deepstack_visual_embeds"] = deepstack_features
        state = self.model.model.language_model(
            attention_mask=attention_mask,
            position_ids=self.layout.positions(attention_mask),
            use_cache=False,
            **arguments,
            **deeper,
        )
        return {"logits": self.model.lm_head(state.last_hidden_state)}


def split_model(model: torch.nn.Module, tensors: Tensors) -> tuple[_Part, ...]:
    """The parts of a model for images of the sizes that are among its inputs."""
    network: Any = model
    if isinstance(model, FixedGeometry):  # Qwen-VL looks at patches of a grid, LLaVA at crops
        layout = _Layout(network.model, network.see, network.positions)
    else:
        sizes = as_numbers(tensors[IMAGE_SIZES])
        see = partial(network.model.get_image_features, image_sizes=sizes)
        layout = _Layout(network, see, lambda _: None)
    return (
        ("vision", _Vision(layout), ("pixel_values",)),
        ("embed", _Embed(layout), ("input_ids", _FEATURES)),
        ("language", _Language(layout), (_EMBEDS, "attention_mask", _PLACES, _DEEPER)),
    )


def _export_parts(subject: ExportSubject, strategy: Strategy, folder: Path) -> dict[Part, Path]:
    """Write a file for each part, traced with the outputs of those before it."""
    model, tensors = build_model(subject, strategy)
    known: dict[str, Any] = dict(tensors)
    programs: dict[Part, onnx_ir.Model] = {}
    for part, module, takes in split_model(model, tensors):
        arguments = {name: known[name] for name in takes if name in known}
        programs[part] = trace_model(module, arguments, None)
        with torch.no_grad():
            known |= module(**arguments)
    wanted = set(subject.outputs)  # and the inputs of later parts
    for program in reversed(programs.values()):
        keep_outputs(program, wanted)
        wanted |= {value.name or "" for value in program.graph.inputs}
    files = {part: folder / f"{part}.onnx" for part in programs}
    models = {files[part]: program for part, program in programs.items()}
    save_sharing(models, folder / f"{next(iter(models)).name}{PART_WEIGHTS_SUFFIX}")
    return files


def _write(subject: ExportSubject, strategy: Strategy, folder: Path) -> Files:
    if strategy.parts:
        return _export_parts(subject, strategy, folder)
    export_whole(subject, strategy, folder / _FILE)
    return {"forward": folder / _FILE}


def _difference(
    model: ModelSpec, files: Files, samples: Sequence[Sample], numbers: NumberFormat
) -> float:
    del model  # all that the files need are its inputs
    return largest_difference(parts_evaluator(files), samples, numbers)


EXPORT = GraphExport(whole_or_split_strategies, _write, _difference)
