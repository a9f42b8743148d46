"""Building models: their size, their weights, and how training is undone."""

from typing import Any

import pytest
import torch

from runner.backends.torch.model import (
    build_without_weights,
    instantiate,
    parameter_count,
    weights_restorer,
)
from runner.backends.torch.random_weights import UNIT, distributions, fill_parameters
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec, catalogue, find
from tests.support.tiny_models import DECODER, tiny, tiny_decoder, tiny_encoder_decoder
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


def test_a_linear_layer_keeps_the_size_of_a_signal() -> None:
    layer = torch.nn.Linear(768, 512)
    fill_parameters(layer, seed=0)
    assert float(layer.weight.detach().std()) == pytest.approx(768**-0.5, rel=0.05)
    assert float(layer(torch.randn(64, 768)).detach().std()) == pytest.approx(1.03, rel=0.1)


def test_queries_that_nothing_divides_are_small_from_the_start() -> None:
    parameters = dict(build(0, find("t5-small")).named_parameters())
    query = parameters["encoder.block.0.layer.0.SelfAttention.q.weight"].detach()
    assert float(query.std()) == pytest.approx((512 * 64) ** -0.5, rel=0.05)


@pytest.mark.parametrize(("name", "parameter", "value"), [
    ("clip-micro", "logit_scale", 2.6592),
    ("clap-micro", "logit_scale_a", 2.6592),
    ("clap-micro", "logit_scale_t", 2.6592),
    ("wav2vec2-micro", "wav2vec2.encoder.pos_conv_embed.conv.parametrizations.weight.original0",
     1.0),
])  # fmt: skip
def test_what_scales_starts_as_training_would(name: str, parameter: str, value: float) -> None:
    parameters = dict(build(0, find(name)).named_parameters())
    values = parameters[parameter].detach().flatten().tolist()
    assert values == pytest.approx([value] * len(values), abs=1e-4)


def test_a_bias_that_is_a_table_is_no_zero() -> None:
    t5 = dict(build(0, find("t5-micro")).named_parameters())
    table = t5["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    assert float(table.detach().std()) > 0.01


def test_a_convolution_keeps_the_size_of_a_signal() -> None:
    convolution = torch.nn.Conv2d(64, 256, 3, padding=1)
    fill_parameters(convolution, seed=0)
    assert float(convolution.weight.detach().std()) == pytest.approx((64 * 9) ** -0.5, rel=0.05)
    signal = torch.randn(1, 64, 32, 32)
    assert float(convolution(signal).detach().std()) == pytest.approx(1.0, rel=0.1)


def test_frozen_norms_matter_too() -> None:
    """Their buffers are copies of parameters that no initialiser has seen."""
    model: Any = build(0, find("detr-micro"))
    frozen = [m for m in model.modules() if type(m).__name__ == "DetrFrozenBatchNorm2d"]
    assert frozen
    for norm in frozen:
        assert (norm.running_var == 1).all()
        assert (norm.weight != 1).all()
        assert all((values != 0).all() for values in (norm.bias, norm.running_mean))


def test_the_order_of_precisions_does_not_change_the_weights() -> None:
    """A reference is computed in fp32, what it judges in another precision."""
    in_fp32, in_bf16 = (
        instantiate(find("bert-micro"), dtype) for dtype in (torch.float32, torch.bfloat16)
    )
    for model in (in_bf16, in_fp32):
        fill_parameters(model, 3)
    assert torch.equal(weights(in_fp32).bfloat16(), weights(in_bf16))


def test_an_encoder_decoder_knows_its_start_token() -> None:
    model: Any = build(0, tiny_encoder_decoder())
    assert model.config.decoder_start_token_id == 0


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
