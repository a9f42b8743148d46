"""Sizes follow from what a cell says, what a model fixes, and its defaults."""

import pytest

from runner.contract.errors import Unsupported
from runner.contract.models import find, shape_of, sizes_of
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
