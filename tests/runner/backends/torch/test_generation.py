"""Generation by transformers' own `generate`, each token timed."""

from contextlib import closing
from typing import Any

import numpy as np
import pytest
import torch

from runner.backends.torch.backend import TorchSession, open_session
from runner.backends.torch.generation import TokenTimes
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec, find
from runner.inputs import Inputs, synthesise
from tests.support.fakes import FakeClock
from tests.support.tiny_models import (
    DECODER,
    image_inputs,
    tiny,
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
            ones = torch.ones_like(tensors[name])
            tensors["attention_mask"] = ones
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


def test_no_token_ends_a_text_early() -> None:
    job = torch_job(tiny_decoder(), new_tokens=6)
    with closing(open_session(job, threads=1)) as session:
        inputs = prompt(job.model, job)
        likely = int(session.bind_generation(job.cells[0], inputs, FakeClock())().tokens[0, 0])
    model = tiny("AutoModelForCausalLM", {**DECODER, "eos_token_id": likely})
    job = torch_job(model, new_tokens=6)
    with closing(open_session(job, threads=1)) as session:
        generated = session.bind_generation(job.cells[0], inputs, FakeClock())()
    assert generated.tokens.shape == (2, 6)
    assert generated.tokens[0, 0] == likely


def test_generators_of_one_session_keep_their_own_counts() -> None:
    job = torch_job(tiny_decoder())
    with closing(open_session(job, threads=1)) as session:
        inputs = prompt(job.model, job)
        generators = [
            session.bind_generation(
                job.cells[0].model_copy(update={"new_tokens": count}), inputs, FakeClock()
            )
            for count in (2, 7, 1)
        ]
        assert [generate().tokens.shape[1] for generate in generators] == [2, 7, 1]


def test_the_first_thing_handed_over_is_the_prompt() -> None:
    clock = FakeClock()
    times = TokenTimes(clock)
    times.put(torch.tensor([[1, 2, 3], [4, 5, 6]]))
    clock.pass_by(100)
    times.put(torch.tensor([7, 8]))
    clock.pass_by(10)
    times.put(torch.tensor([9, 10]))
    times.end()
    assert times.times_ns == [102, 113]
    assert [step.tolist() for step in times.steps] == [[7, 8], [9, 10]]


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
