"""Building models: their size, their weights, and how training is undone."""

import pytest
import torch

from runner.backends.torch.model import (
    build_without_weights,
    fill_parameters,
    instantiate,
    parameter_count,
    weights_restorer,
)
from runner.backends.torch.random_weights import UNIT, distributions
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec, catalogue, find
from tests.support.tiny_models import DECODER, tiny, tiny_decoder
from tests.support.words import raises_words


def build(seed: int, spec: ModelSpec | None = None) -> torch.nn.Module:
    model = instantiate(spec or tiny_decoder(), torch.float32)
    fill_parameters(model, seed)
    return model


def weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.representatives(14)
@pytest.mark.parametrize("model", catalogue().values(), ids=lambda model: model.name)
def test_parameter_counts_are_the_published_ones(model: ModelSpec) -> None:
    assert parameter_count(model) == model.parameters


def test_the_seed_decides_the_weights() -> None:
    first, again, other = (weights(build(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_misspelt_key_is_refused_and_what_transformers_wrote_is_not() -> None:
    old = {"gradient_checkpointing": False, "layer_norm_epsilom": {"__float__": "Infinity"}}
    with raises_words(Unsupported, match="gpt2 has no gradient_checkpointing, layer_norm_epsilom"):
        parameter_count(tiny("AutoModelForCausalLM", DECODER | old))
    written = DECODER | old | {"transformers_version": "4.8.2"}
    count = parameter_count(tiny("AutoModelForCausalLM", written))
    assert count == parameter_count(tiny_decoder())


@pytest.mark.parametrize(
    ("name", "mean", "deviation"),
    [
        ("transformer.ln_f.weight", 1, 0.35),
        ("transformer.ln_f.bias", 0, 0.75),
        ("transformer.h.0.attn.c_attn.bias", 0, 0.25),
        ("transformer.h.0.attn.c_attn.weight", 0, 768**-0.5),
        ("transformer.h.0.mlp.c_proj.weight", 0, 3072**-0.5),
        ("transformer.wte.weight", 0, 1),
        ("transformer.wpe.weight", 0, 1),
    ],
)
def test_every_parameter_matters(name: str, mean: float, deviation: float) -> None:
    model = build_without_weights(find("gpt2"))
    parameter = dict(model.named_parameters())[name]
    assert distributions(model).get(id(parameter), UNIT) == pytest.approx((mean, deviation))


def test_the_order_of_precisions_does_not_change_the_weights() -> None:
    """A reference is computed in fp32, what it judges in another precision."""
    in_fp32, in_bf16 = (
        instantiate(find("bert-micro"), dtype) for dtype in (torch.float32, torch.bfloat16)
    )
    for model in (in_bf16, in_fp32):
        fill_parameters(model, 3)
    assert torch.equal(weights(in_fp32).bfloat16(), weights(in_bf16))


def test_restoring_brings_back_parameters_and_buffers() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
    fill_parameters(model, seed=4)
    restore = weights_restorer(model, seed=4)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model(torch.randn(8, 3)).square().sum().backward()
    optimizer.step()
    changed = [name for name, value in model.state_dict().items() if (value != before[name]).any()]
    assert {"0.weight", "1.running_mean"} <= set(changed)
    restore()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
