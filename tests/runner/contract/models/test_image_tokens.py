"""Images in prompts: our arithmetic against transformers' own, which works on tensors."""

import importlib
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from runner.contract.models import ModelSpec, find
from runner.contract.models.sizes import anyres_resolution, image_sizes

LLAVA = ("llava-next-micro", "llava-onevision-micro", "llava-v1.6-mistral-7b")
LLAVA_ONEVISION = "llava-onevision-0.5b"
AREAS = [
    *((side, side) for side in (28, 30, 56, 90, 224, 336, 384, 500, 672, 1000, 2304, 4000)),
    *((28, 90), (90, 28), (100, 1000), (1000, 100), (480, 640), (1080, 1920), (333, 777)),
]


def theirs(model: ModelSpec) -> Any:
    kind = model.config["model_type"]
    return importlib.import_module(f"transformers.models.{kind}.modeling_{kind}")


class Configured:
    """What packing asks of a model: its configuration."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        vision = SimpleNamespace(**config["vision_config"])
        self.config = SimpleNamespace(**{**config, "vision_config": vision})


def crops_of(model: ModelSpec, image: tuple[int, int]) -> int:
    side = model.config["vision_config"]["image_size"]
    pinpoints = model.config["image_grid_pinpoints"]
    return int(theirs(model).image_size_to_num_patches(image, pinpoints, side))


def packed_tokens(model: ModelSpec, image: tuple[int, int]) -> int:
    """How many features transformers keeps of an image, by its own way of packing them."""
    vision = model.config["vision_config"]
    features = torch.zeros(
        crops_of(model, image), (vision["image_size"] // vision["patch_size"]) ** 2, 2
    )
    if model.config["model_type"] == "llava_next":
        pack = theirs(model).LlavaNextModel.pack_image_features
        extra = {"vision_feature_select_strategy": "default"}
    else:
        pack = theirs(model).LlavaOnevisionModel.pack_image_features
        extra = {"vision_aspect_ratio": model.config["vision_aspect_ratio"]}
    owner, size, newline = Configured(model.config), torch.tensor([image]), torch.zeros(2)
    _, lengths = pack(owner, [features], size, image_newline=newline, **extra)
    return int(lengths[0])


@pytest.mark.parametrize("image", AREAS, ids=str)
@pytest.mark.parametrize("name", [*LLAVA, LLAVA_ONEVISION])
def test_crops_and_tokens_are_those_that_llava_makes(name: str, image: tuple[int, int]) -> None:
    model = find(name)
    sizes = image_sizes("anyres", model.config, image)
    assert sizes["image_crops"] == crops_of(model, image)
    assert sizes["image_tokens"] == packed_tokens(model, image)


@pytest.mark.parametrize("image", AREAS, ids=str)
def test_the_resolution_is_the_one_that_transformers_picks(image: tuple[int, int]) -> None:
    from transformers.image_processing_utils import select_best_resolution

    pick: Callable[..., tuple[int, int]] = select_best_resolution
    for name in (*LLAVA, LLAVA_ONEVISION):
        choices = find(name).config["image_grid_pinpoints"]
        assert anyres_resolution(image, choices) == pick(image, choices)


@pytest.mark.parametrize(("name", "patch"), [("qwen2-vl-2b", 14), ("qwen3-vl-2b", 16)])
def test_qwen_cuts_patches_and_merges_four_to_a_token(name: str, patch: int) -> None:
    sizes = image_sizes("grid", find(name).config, (8 * patch, 8 * patch))
    assert sizes == {"image_grid": 8, "image_patches": 64, "image_tokens": 16}
