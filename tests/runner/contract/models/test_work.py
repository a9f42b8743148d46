"""The work of a query: polynomials that are data."""

import pytest

from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec, Work, catalogue, find, work
from tests.support.jobs import fake_cell, fake_model
from tests.support.words import raises_words


@pytest.mark.parametrize("model", catalogue().values(), ids=lambda model: model.name)
def test_every_catalogued_model_was_counted(model: ModelSpec) -> None:
    found = work(model, fake_cell())
    assert found is not None
    assert found.macs > 0
    assert found.activation_bytes > 0
    assert found.parameter_bytes == 4 * (model.parameters or 0)


def test_nobody_counted_custom_models() -> None:
    assert work(fake_model(), fake_cell()) is None


def test_bert_multiplies_each_weight_once_for_each_token_and_attends() -> None:
    """12 layers of 12 × 768² weights, the head's 768² and 768 × 30,522; scores and their sums."""
    weights = 12 * 12 * 768**2 + 768**2 + 768 * 30522
    attention = 12 * 2 * 768 * 128**2
    found = work(find("bert-base-uncased"), fake_cell(4, sequence_length=128))
    assert found is not None
    assert found.macs == 4 * (128 * weights + attention)


def counted(name: str, value_bytes: int = 4, **sizes: int) -> Work:
    result = work(find(name), fake_cell(**sizes), value_bytes)
    assert result is not None
    return result


def test_work_grows_with_the_batch_and_bytes_with_the_precision() -> None:
    one, three = (counted("gpt2", batch_size=size) for size in (1, 3))
    assert three.macs == 3 * one.macs
    assert three.parameter_bytes == one.parameter_bytes
    in_fp32, in_bf16 = counted("vit-tiny", 4), counted("vit-tiny", 2)
    assert in_fp32.macs == in_bf16.macs
    assert in_fp32.activation_bytes == 2 * in_bf16.activation_bytes
    assert in_fp32.parameter_bytes == 2 * in_bf16.parameter_bytes


@pytest.mark.parametrize(
    ("name", "small", "large"),
    [
        ("detr-micro", {"image_size": 64}, {"image_size": 128}),
        ("wav2vec2-micro", {"audio_seconds": 1}, {"audio_seconds": 2}),
        ("llava-next-micro", {"image_size": 28}, {"image_size": 56}),
        ("qwen2-vl-micro", {"image_size": 56}, {"image_size": 112}),
    ],
)
def test_work_grows_with_images_and_sounds(
    name: str, small: dict[str, int], large: dict[str, int]
) -> None:
    less, more = counted(name, **small), counted(name, **large)
    assert more.macs > 1.5 * less.macs
    assert more.activation_bytes > less.activation_bytes


def test_a_size_that_the_model_does_not_take_has_no_work() -> None:
    with raises_words(Unsupported, match="multiples of 32"):
        work(find("detr-micro"), fake_cell(image_size=100))
