"""The modules that a model is taken apart into do together what it does."""

from typing import Any

import pytest
import torch

from runner.backends.torch.query import named_tensors
from runner.contract.models import find
from runner.export.forward import split_model
from runner.export.torch_exporters import (
    ExportSubject,
    Tensors,
    build_model,
    whole_or_split_strategies,
)
from runner.inputs import synthesise
from tests.support.tiny_models import torch_cell


def one_after_the_other(model: torch.nn.Module, tensors: Tensors) -> dict[str, Any]:
    """All that the parts take and give."""
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
