"""Takes a model that sees and reads apart into modules that do its work one after the other."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch

from runner.contract.graph import Part
from runner.export.model_patches import IMAGE_SIZES, FixedGeometry, as_numbers

FEATURES = "image_features"
DEEPER = "deepstack_features"
"""What some vision towers give for the language model's first layers, beside its input."""
EMBEDS = "inputs_embeds"
PLACES = "image_places"
"""Which tokens of the prompt stand for the image."""


class Anatomy(NamedTuple):
    """What there is to a model."""

    model: Any
    """The model itself, in transformers' own layout."""
    see: Callable[[torch.Tensor], Any]
    """What `get_image_features` gives for pixels, all else being constant."""
    position_ids: torch.Tensor | None
    """Where the tokens stand, if not one behind the other."""


class Step(NamedTuple):
    """A part of a model, as torch executes it."""

    part: Part
    module: torch.nn.Module
    takes: tuple[str, ...]
    """Names among the model's inputs and what earlier steps give; not all need be there."""


class _Piece(torch.nn.Module):
    """Does some of a model's work; holds all of it, and an export drops what is not used."""

    def __init__(self, anatomy: Anatomy) -> None:
        super().__init__()
        self.model = anatomy.model
        self.config = anatomy.model.config
        self.anatomy = anatomy
        self.eval()


class _Vision(_Piece):
    """The vision tower and the projection behind it."""

    def forward(self, pixel_values: torch.Tensor) -> dict[str, Any]:
        seen = self.anatomy.see(pixel_values)
        features = torch.cat(seen.pooler_output)
        deeper = getattr(seen, DEEPER, None) or ()
        return {
            FEATURES: features,
            "image_hidden_states": features,
            DEEPER: [torch.cat(each) for each in deeper],
        }


class _Embed(_Piece):
    """The prompt as vectors, those of the image in their places."""

    def forward(
        self, input_ids: torch.Tensor, image_features: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        words = self.model.get_input_embeddings()(input_ids)
        places = input_ids == self.config.image_token_id
        return {EMBEDS: words.masked_scatter(places.unsqueeze(-1), image_features), PLACES: places}


class _Language(_Piece):
    """The language model and its head."""

    def forward(
        self,
        image_places: torch.Tensor,
        deepstack_features: list[torch.Tensor] | None = None,
        **arguments: torch.Tensor,
    ) -> dict[str, torch.Tensor]:
        deeper: dict[str, Any] = {}
        if deepstack_features:
            deeper = {
                "visual_pos_masks": image_places,
                "deepstack_visual_embeds": deepstack_features,
            }
        state = self.model.model.language_model(
            position_ids=self.anatomy.position_ids, use_cache=False, **arguments, **deeper
        )
        return {"logits": self.model.lm_head(state.last_hidden_state)}


def steps(model: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> tuple[Step, ...]:
    """The parts of a model for images of the sizes that are among its inputs."""
    anatomy = _anatomy(model, tensors)
    return (
        Step("vision", _Vision(anatomy), ("pixel_values",)),
        Step("embed", _Embed(anatomy), ("input_ids", FEATURES)),
        Step("language", _Language(anatomy), (EMBEDS, "attention_mask", PLACES, DEEPER)),
    )


def _anatomy(model: Any, tensors: Mapping[str, torch.Tensor]) -> Anatomy:
    """Qwen-VL looks at patches of a grid, LLaVA at crops of an image."""
    if isinstance(model, FixedGeometry):
        return Anatomy(model.model, model.see, model.position_ids)
    sizes = as_numbers(tensors[IMAGE_SIZES])
    return Anatomy(model, partial(model.model.get_image_features, image_sizes=sizes), None)
