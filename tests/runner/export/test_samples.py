"""Tokens that torch generates after a query, and the logits before them."""

import pytest

from runner.contract.models import ModelSpec, find
from runner.export.samples import _STEPS, Sample, samples
from tests.support.tiny_models import (
    DECODER,
    generating_job,
    tiny,
    tiny_decoder,
    tiny_encoder_decoder,
)

MODELS = {
    "decoder": tiny_decoder(),
    "encoder-decoder": tiny_encoder_decoder(),
    "audio": find("whisper-micro"),
    "vision-language": find("qwen3-vl-micro"),
    "cropped images": find("llava-next-micro"),
}


def sample_of(model: ModelSpec, **changes: object) -> Sample:
    job = generating_job(model, **changes)
    (sample,) = samples(job, job.cells)
    return sample


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "encoder-decoder" else name
        for name in MODELS
    ],
)
def test_the_logits_are_those_that_led_to_the_tokens(name: str) -> None:
    generated = sample_of(MODELS[name]).generated
    assert generated is not None
    assert generated.tokens.shape == (2, _STEPS)
    assert generated.logits.shape[:2] == (2, _STEPS)
    assert (generated.logits.argmax(axis=-1) == generated.tokens).all()


def test_no_more_tokens_are_generated_than_the_model_has_places_for() -> None:
    config = {**DECODER, "n_positions": 34}
    model = tiny("AutoModelForCausalLM", config, max_sequence_length=34)
    generated = sample_of(model).generated
    assert generated is not None
    assert generated.tokens.shape == (2, 3)


def test_a_forward_pass_is_followed_by_no_tokens_and_the_first_one_comes_padded_too() -> None:
    job = generating_job(tiny_decoder(), mode="inference", new_tokens=None)
    sample, padded = samples(job, job.cells)
    assert (sample.generated, padded.generated) == (None, None)
    assert sample.inputs["attention_mask"].all()
    assert not padded.inputs["attention_mask"].all()
    assert sample.outputs["logits"].shape == padded.outputs["logits"].shape
