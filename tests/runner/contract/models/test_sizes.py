"""Sizes follow from what a cell says, what a model fixes, and its defaults."""

import importlib
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec, find, shape_of, sizes_of
from runner.contract.models.sizes import anyres_resolution, image_sizes
from tests.support.jobs import fake_cell
from tests.support.words import raises_words


@pytest.mark.parametrize(("model", "changes", "sizes"), [
    ("bert-tiny", {"batch_size": 3}, {"batch_size": 3, "sequence_length": 8}),
    ("xclip-micro", {}, {"image_size": 32, "frames": 8}),
    ("whisper-tiny", {}, {"audio_seconds": 30}),
    ("detr-resnet-50", {}, {"image_size": 800}),
    ("detr-resnet-50", {"image_size": 64}, {"image_size": 64}),
    ("wav2vec2-base-960h", {}, {"audio_seconds": 5}),
])  # fmt: skip
def test_sizes_are_the_cells_or_those_that_the_model_fixes_or_usually_has(
    model: str, changes: dict[str, int], sizes: dict[str, int]
) -> None:
    assert sizes.items() <= sizes_of(find(model), fake_cell(**changes)).items()


def test_a_size_that_a_model_does_not_take_is_refused() -> None:
    with raises_words(Unsupported, match="qwen2-vl-micro takes image_size of at least 56, not 28"):
        sizes_of(find("qwen2-vl-micro"), fake_cell(image_size=28))


@pytest.mark.parametrize(("name", "cell", "shapes"), [
    ("wav2vec2-micro", fake_cell(2, audio_seconds=3), {"input_values": (2, 48_000)}),
    ("qwen3-vl-micro", fake_cell(2, image_size=128),
     {"input_ids": (2, 26), "attention_mask": (2, 26), "mm_token_type_ids": (2, 26),
      "pixel_values": (2 * 64, 1536), "image_grid_thw": (2, 3)}),
    ("llava-onevision-micro", fake_cell(2, image_size=56),
     {"input_ids": (2, 8 + 24), "attention_mask": (2, 8 + 24), "pixel_values": (2, 5, 3, 28, 28),
      "image_sizes": (2, 2)}),
    ("detr-micro", fake_cell(image_size=96),
     {"pixel_values": (1, 3, 96, 96), "pixel_mask": (1, 96, 96)}),
])  # fmt: skip
def test_shapes_are_of_sizes(name: str, cell: object, shapes: dict[str, tuple[int, ...]]) -> None:
    model = find(name)
    sizes = sizes_of(model, cell)  # type: ignore[arg-type]
    assert {tensor.name: shape_of(model, tensor, sizes) for tensor in model.inputs} == shapes


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
