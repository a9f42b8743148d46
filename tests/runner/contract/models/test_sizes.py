"""Sizes follow from what a cell says, what a model fixes, and its defaults."""

import pytest

from runner.contract.errors import Unsupported
from runner.contract.models import AxisRange, find, prompt_length, refusal, shape_of, sizes_of
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


def test_a_range_tells_why_it_does_not_hold_a_value() -> None:
    allowed = AxisRange(default=64, least=32, most=128, multiple_of=32)
    refused = {size: refusal("m", "image_size", allowed, size) for size in (32, 64, 16, 160, 65)}
    assert {size: cause.code for size, cause in refused.items() if cause} == {
        16: "size_too_small",
        160: "size_too_large",
        65: "size_no_multiple",
    }


def test_an_images_tokens_lengthen_the_prompt() -> None:
    """16 patches of 14 pixels make 4 tokens, and one stands on either side of them."""
    model = find("qwen2-vl-micro")
    assert prompt_length(model, fake_cell(sequence_length=10)) == 10 + 4 + 2
    assert prompt_length(model, fake_cell(sequence_length=10, image_size=112)) == 10 + 16 + 2
    assert prompt_length(find("llava-v1.6-mistral-7b"), fake_cell()) == 8 + 1176
    assert prompt_length(find("gpt2"), fake_cell(sequence_length=10)) == 10
    assert prompt_length(find("vit-base"), fake_cell(sequence_length=None)) is None


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


@pytest.mark.parametrize("name", ["bert-tiny", "qwen2-vl-micro"])
def test_a_missing_length_is_named(name: str) -> None:
    model = find(name)
    sizes = sizes_of(model, fake_cell(sequence_length=None))
    with raises_words(Unsupported, match=f"model {name} needs a sequence_length"):
        shape_of(model, model.inputs[0], sizes)


def test_a_tensor_names_the_sizes_it_depends_on() -> None:
    pixels = find("qwen2-vl-micro").inputs[3]
    assert pixels.sizes == {"batch_size", "image_patches"}
