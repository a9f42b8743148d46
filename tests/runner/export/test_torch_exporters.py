"""Models that are taken apart, or patched, compute what the whole does."""

from typing import Any

import pytest
import torch
from transformers import T5Config
from transformers.models.t5.modeling_t5 import T5Attention

from runner.backends.torch.query import named_tensors
from runner.contract.models import find
from runner.export.forward import split_model
from runner.export.torch_exporters import (
    ExportSubject,
    Tensors,
    build_model,
    tabulate_buckets,
    whole_or_split_strategies,
)
from runner.inputs import synthesise
from tests.support.tiny_models import torch_cell


def one_after_the_other(model: torch.nn.Module, tensors: Tensors) -> dict[str, Any]:
    known: dict[str, Any] = dict(tensors)
    for _, module, takes in split_model(model, tensors):
        known |= module(**{name: known[name] for name in takes if name in known})
    return known


@pytest.mark.slow
@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("name", "image_size"),
    [
        ("llava-next-micro", 28),
        ("llava-onevision-micro", 56),
        ("qwen2-vl-micro", 84),
        ("qwen3-vl-micro", 64),
    ],
)
def test_one_after_the_other_they_give_what_the_model_gives(name: str, image_size: int) -> None:
    spec = find(name)
    cell = torch_cell(spec, batch_size=3, sequence_length=9, image_size=image_size)
    inputs = synthesise(spec, cell, 1)
    subject = ExportSubject(spec, 0, torch.float32, inputs, inputs, ("logits",))
    as_whole, *_, in_parts = whole_or_split_strategies(spec)
    model, tensors = build_model(subject, as_whole)
    split, constant = build_model(subject, in_parts)
    padded = tensors["attention_mask"].clone()
    padded[0, -1] = 0
    for mask in (tensors["attention_mask"], padded):
        given = {"attention_mask": mask}
        with torch.no_grad():
            expected = dict(named_tensors(model(**{**tensors, **given}, **spec.forward)))
            result = one_after_the_other(split, {**constant, **given})
        assert "logits" in expected
        for path, tensor in expected.items():
            largest = float(tensor.abs().max())
            torch.testing.assert_close(result[path], tensor, rtol=1e-4, atol=1e-5 * largest)


@pytest.mark.parametrize("is_decoder", [False, True])
def test_a_table_sorts_distances_as_t5_does(is_decoder: bool) -> None:
    config = T5Config(d_model=8, d_kv=4, num_heads=2, is_decoder=is_decoder)
    attention: Any = T5Attention(config, has_relative_attention_bias=True)
    before = attention.compute_bias(300, 300)
    tabulate_buckets(attention)
    torch.testing.assert_close(attention.compute_bias(300, 300), before, rtol=0, atol=0)
    program = torch.export.export(attention.eval(), (torch.zeros(1, 4, 8),))
    assert not [node.name for node in program.graph.nodes if "log" in node.name]
