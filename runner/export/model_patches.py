"""Patches of models before, and of files after an export: what is known becomes a constant.

Qwen-VL models loop over `image_grid_thw` in Python, which no exporter can trace. For one shape the
grid is known, and so is all that follows from it: the patches' positions and bounds within the
vision tower, and the tokens' positions in the language model. The rest is traced as one graph.
LLaVA models crop by `image_sizes`, which can be traced if they are numbers.

T5 sorts distances of tokens into buckets by a logarithm. A runtime computes that in the cell's
precision, and in bf16 some distances fall into the bucket beside: a table has no such step.
"""

from collections.abc import Callable, Mapping
from inspect import getattr_static
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir
import torch
from transformers.exporters.utils import precompute_export_inputs

from runner.contract.graph import PART_WEIGHTS_SUFFIX

GRID = "image_grid_thw"
IMAGE_SIZES = "image_sizes"
_CONSTANT = (GRID, "mm_token_type_ids")
"""Arguments about the position and size of images, not about their content."""
_BUCKETS = "_relative_position_bucket"
"""T5's function that sorts distances; models derived from it in transformers have a copy."""
MASKED = -100.0
"""The substitute for minus infinity: far below any score, and a probability of e^-100 is none."""
_HOPELESS = -1e30
"""Numbers below this one can only mean minus infinity."""


class FixedGeometry(torch.nn.Module):
    """The model for images and prompts laid out as in one sample; prompts may be padded behind."""

    def __init__(self, model: Any, sample: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self.model = model
        self.config = model.config
        self._tower = {"grid_thw": sample[GRID], "hidden_states": sample["pixel_values"]}
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
        """The positions of the tokens, in each of the directions; no mask hides none."""
        if attention_mask is None:
            return self._position_ids
        return self._position_ids * attention_mask

    def forward(
        self,
        pixel_values: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        **arguments: Any,
    ) -> Any:
        """The vision tower's features, then the model with them in place of the image."""
        return self.model(
            **arguments,
            attention_mask=attention_mask,
            position_ids=self.positions(attention_mask),
            mm_encoder_outputs={"image": self.see(pixel_values)},
        )


def without_geometry(inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in inputs.items() if name not in _CONSTANT}


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


def bound_masks(path: Path) -> None:
    """Replace masks of fp32's least number: a range from there leaves nothing of the scores."""
    model = onnx_ir.load(path)
    for value in model.graph.initializers.values():
        if value.const_value is not None and value.const_value.dtype == onnx_ir.DataType.FLOAT:
            value.const_value = _bounded(value.const_value)
    for node in model.graph:
        if node.op_type == "Constant" and "value" in node.attributes:
            tensor = node.attributes["value"].as_tensor()
            if tensor.dtype == onnx_ir.DataType.FLOAT:
                node.attributes.add(onnx_ir.AttrTensor("value", _bounded(tensor)))
    onnx_ir.save(model, path, external_data=f"{path.name}{PART_WEIGHTS_SUFFIX}")


def _bounded(tensor: onnx_ir.TensorProtocol) -> onnx_ir.TensorProtocol:
    numbers = tensor.numpy()
    if not (numbers < _HOPELESS).any():
        return tensor
    return onnx_ir.tensor(
        np.where(numbers < _HOPELESS, np.float32(MASKED), numbers), name=tensor.name
    )
