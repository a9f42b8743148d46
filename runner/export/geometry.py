"""Makes constants of what Qwen-VL models compute from the size of their images.

They loop over `image_grid_thw` in Python, which no exporter can trace. For one shape the grid is
known, and so is all that follows from it: the patches' positions and bounds within the vision
tower, and the tokens' positions in the language model. The rest is traced as one graph.
"""

from collections.abc import Mapping
from typing import Any

import torch
from transformers.exporters.utils import precompute_export_inputs

GRID = "image_grid_thw"
CONSTANT = (GRID, "mm_token_type_ids")
"""Arguments that say where images lie and how large they are, and nothing about what they show."""


class FixedGeometry(torch.nn.Module):
    """The model for images and prompts laid out as in one sample; takes the other arguments."""

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

    def forward(self, pixel_values: torch.Tensor, **arguments: Any) -> Any:
        """The vision tower's features, then the model with them in place of the image."""
        image = self.model.model.visual(hidden_states=pixel_values, **self._tower)
        image.pooler_output = (image.pooler_output,)
        if getattr(image, "deepstack_features", None) is not None:
            image.deepstack_features = [(features,) for features in image.deepstack_features]
        return self.model(
            **arguments, position_ids=self._position_ids, mm_encoder_outputs={"image": image}
        )


def without_geometry(inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The arguments that `FixedGeometry` takes."""
    return {name: value for name, value in inputs.items() if name not in CONSTANT}
