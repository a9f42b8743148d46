"""Building models: their size, their weights, and how training is undone."""

from typing import Any

import pytest
import torch

from runner.backends.torch_model import count_parameters, fill_parameters, instantiate, restorer
from runner.models import ModelSpec, catalogue
from tests.tiny_models import tiny_decoder, tiny_encoder_decoder

pytestmark = pytest.mark.torch


def build(seed: int, spec: ModelSpec | None = None) -> torch.nn.Module:
    model = instantiate(spec or tiny_decoder(), torch.float32)
    fill_parameters(model, seed)
    return model


def weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("model", catalogue().values(), ids=lambda model: model.name)
def test_parameter_counts_are_the_published_ones(model: ModelSpec) -> None:
    assert count_parameters(model) == model.parameters


def test_the_seed_decides_the_weights() -> None:
    first, again, other = (weights(build(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_norms_are_one_biases_zero_and_the_rest_small() -> None:
    parameters = dict(build(0).named_parameters())
    assert (parameters["transformer.ln_f.weight"] == 1).all()
    assert (parameters["transformer.h.0.attn.c_attn.bias"] == 0).all()
    deviation = float(parameters["transformer.wte.weight"].detach().std())
    assert 0.015 < deviation < 0.025


def test_an_encoder_decoder_knows_its_start_token() -> None:
    model: Any = build(0, tiny_encoder_decoder())
    assert model.config.decoder_start_token_id == 0


def test_restoring_brings_back_parameters_and_buffers() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
    fill_parameters(model, seed=4)
    restore = restorer(model, seed=4)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model(torch.randn(8, 3)).square().sum().backward()
    optimizer.step()
    changed = [name for name, value in model.state_dict().items() if (value != before[name]).any()]
    assert {"0.weight", "1.running_mean"} <= set(changed)
    restore()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
