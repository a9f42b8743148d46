"""Generation by transformers' own `generate`, each token timed."""

from contextlib import closing
from typing import Any

import numpy as np
import pytest
import torch

from runner.backends.torch.backend import TorchSession, open_session
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec, find
from runner.inputs import Inputs, synthesise
from tests.support.fakes import FakeClock
from tests.support.tiny_models import (
    image_inputs,
    tiny_decoder,
    tiny_encoder_decoder,
    tiny_vision_language,
    torch_job,
)
from tests.support.words import raises_words

MODELS = {
    "decoder": tiny_decoder(),
    "encoder-decoder": tiny_encoder_decoder(),
    "vision-language": tiny_vision_language(),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> ModelSpec:
    return MODELS[request.param]


def prompt(model: ModelSpec, session_job: Any) -> Inputs:
    cell = session_job.cells[0]
    if model.modality == "multimodal":
        return image_inputs(cell.batch_size)
    return synthesise(model, cell, seed=0)


def greedy_by_hand(session: TorchSession, inputs: Inputs, steps: int) -> np.ndarray[Any, Any]:
    """The most likely token after the whole text so far, again and again, without a cache."""
    network: Any = session._model
    tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}
    name = "input_ids"
    if network.config.is_encoder_decoder:
        name = "decoder_input_ids"
        tensors[name] = torch.zeros((len(inputs["input_ids"]), 1), dtype=torch.int64)
    start = tensors[name].shape[1]
    for _ in range(steps):
        with torch.inference_mode():
            token = network(**tensors, use_cache=False).logits[:, -1].argmax(-1, keepdim=True)
        tensors[name] = torch.cat([tensors[name], token], dim=1)
        if name == "input_ids":
            tensors["attention_mask"] = torch.ones_like(tensors[name])
            if "mm_token_type_ids" in tensors:
                kinds = tensors["mm_token_type_ids"]
                tensors["mm_token_type_ids"] = torch.cat([kinds, torch.zeros_like(token)], dim=1)
    return tensors[name][:, start:].numpy()


@pytest.mark.parametrize("batch_size", [1, 3])
def test_the_tokens_are_those_of_greedy_search(model: ModelSpec, batch_size: int) -> None:
    job = torch_job(model, batch_size=batch_size, new_tokens=4)
    with closing(open_session(job, threads=1)) as session:
        inputs = prompt(model, job)
        generated = session.bind_generation(job.cells[0], inputs, FakeClock())()
        assert generated.tokens.shape == (batch_size, 4)
        assert (generated.tokens == greedy_by_hand(session, inputs, 4)).all()


def test_a_model_without_a_decoder_is_unsupported() -> None:
    job = torch_job(find("bert-tiny"), new_tokens=2)
    with (
        closing(open_session(job, threads=1)) as session,
        raises_words(Unsupported, match="BertForMaskedLM cannot generate tokens"),
    ):
        session.bind_generation(job.cells[0], prompt(job.model, job), FakeClock())


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_every_kind_of_model_generates_without_a_word_on_stderr(
    model: ModelSpec, precision: str, capfd: pytest.CaptureFixture[str], recwarn: Any
) -> None:
    job = torch_job(model, new_tokens=3, precision=precision)
    with closing(open_session(job, threads=1)) as session:
        generated = session.bind_generation(job.cells[0], prompt(model, job), FakeClock())()
        assert (generated.tokens.shape, len(generated.token_times_ns)) == ((2, 3), 3)
    assert capfd.readouterr().err == ""
    assert not recwarn.list
