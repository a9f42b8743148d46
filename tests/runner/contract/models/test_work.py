"""The work of a query: polynomials that are data."""

from typing import Any

import pytest

from runner.contract.models import (
    IterationWork,
    ModelSpec,
    Work,
    catalogue,
    find,
    iteration_work,
    work,
)
from tests.support.jobs import fake_cell


@pytest.mark.parametrize("model", catalogue().values(), ids=lambda model: model.name)
def test_every_catalogued_model_was_counted(model: ModelSpec) -> None:
    found = work(model, fake_cell())
    assert found is not None
    assert found.macs > 0
    assert found.activation_bytes > 0
    assert found.parameter_bytes == 4 * (model.parameters or 0)


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


GPT2_WEIGHTS = 12 * (12 * 768**2 + 13 * 768) + 2 * 768 + 50257 * 768
"""Layers with their biases and norms, the last norm, and the table that is the head as well; of the
table of positions only rows are read."""
GPT2_CACHE = 12 * 2 * 768
"""A key and a value of one token in each layer."""


def of(name: str, **changes: Any) -> IterationWork:
    result = iteration_work(find(name), fake_cell(**changes))
    assert result is not None
    return result


def test_a_forward_pass_of_gpt2_has_32_gflop_and_reads_its_weights_once() -> None:
    whole = of("gpt2", sequence_length=128).whole
    assert whole.flops / 2 == pytest.approx(16.11e9, rel=1e-3)
    ids_and_mask, logits = 2 * 128 * 8, 128 * 50257 * 4
    assert whole.traffic_bytes == 4 * GPT2_WEIGHTS + ids_and_mask + logits


def test_a_step_of_decoding_reads_all_weights_once_and_the_cache_of_each_sample() -> None:
    """The cache has 128 tokens ahead of the first of three steps, then one more each."""
    batch, steps = 4, (128, 129, 130)
    result = of("gpt2", batch_size=batch, sequence_length=128, new_tokens=4, mode="generation")
    assert result.prefill is not None
    multiplied = 12 * 12 * 768**2 + 50257 * 768
    assert (result.whole.flops - result.prefill.flops) == 2 * batch * sum(
        multiplied + GPT2_CACHE * (cached + 1) for cached in steps
    )
    tokens = sum(cached + 1 for cached in steps)  # those before it are read, its own is written
    assert result.whole.traffic_bytes - result.prefill.traffic_bytes == (
        3 * 4 * GPT2_WEIGHTS + batch * (4 * GPT2_CACHE * tokens + 3 * 2 * 8)
    )


def test_a_prompt_is_filled_in_with_scores_for_its_last_position_alone() -> None:
    forward = of("gpt2", sequence_length=128).whole
    prefill = of("gpt2", sequence_length=128, new_tokens=1, mode="generation").prefill
    assert prefill is not None
    assert forward.flops - prefill.flops == 2 * 127 * 50257 * 768


@pytest.mark.parametrize(
    ("name", "sizes", "share"),
    [("whisper-tiny", {}, 0.87), ("qwen2-vl-2b", {"sequence_length": 8}, 0.71)],
)
def test_encoders_and_vision_towers_have_no_part_in_decoding(
    name: str, sizes: dict[str, int], share: float
) -> None:
    two, three = (of(name, new_tokens=n, mode="generation", **sizes).whole for n in (2, 3))
    """Of whisper-tiny's 37.8 million parameters 28.2 decode, beside 4.6 million cached values."""
    weights = 4 * (find(name).parameters or 0)
    assert (three.traffic_bytes - two.traffic_bytes) / weights == pytest.approx(share, abs=0.03)


def test_training_has_three_forward_passes_and_moves_the_optimizers_state() -> None:
    forward, step = (
        of("gpt2", sequence_length=64, mode=m).whole for m in ("inference", "training")
    )
    assert step.flops == 3 * forward.flops
    state = 8 * 4 * (find("gpt2").parameters or 0)
    assert step.traffic_bytes == state + 2 * 4 * GPT2_WEIGHTS + 2 * 64 * 8


@pytest.mark.parametrize(("parameters", "size"), [("mixed", 4), ("pure", 2)])
def test_training_in_bf16_keeps_its_state_in_fp32_unless_it_is_pure(
    parameters: str, size: int
) -> None:
    changes = {"precision": "bf16", "training_precision": parameters, "mode": "training"}
    step = of("gpt2", sequence_length=64, **changes).whole
    state = 8 * size * (find("gpt2").parameters or 0)
    assert step.traffic_bytes == state + 2 * 2 * GPT2_WEIGHTS + 2 * 64 * 8
