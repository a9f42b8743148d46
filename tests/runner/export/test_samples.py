"""Tokens that torch generates after a query, and the logits before them."""

import pytest

from runner.contract.models import ModelSpec, find
from runner.export.check import _STEPS, Sample, samples
from tests.support.tiny_models import generating_job, tiny_decoder, tiny_encoder_decoder

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


@pytest.mark.representatives(1)
@pytest.mark.parametrize("name", MODELS)
def test_the_logits_are_those_that_led_to_the_tokens(name: str) -> None:
    generated = sample_of(MODELS[name]).generated
    assert generated is not None
    assert generated.tokens.shape == (2, _STEPS)
    assert generated.logits.shape[:2] == (2, _STEPS)
    assert (generated.logits.argmax(axis=-1) == generated.tokens).all()
