"""Counting without data, against torch's own counter on real tensors, and against the catalogue."""

import json
from collections.abc import Sequence

import pytest
import torch
from _pytest.mark import ParameterSet
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from runner.backends.torch.model import build_without_weights, instantiate
from runner.backends.torch.random_weights import fill_parameters
from runner.contract.cell import Cell
from runner.contract.models import ModelSpec, catalogue, find, model_sets
from runner.contract.models.work import counts_of
from runner.inputs import synthesise
from tests.support.tiny_models import torch_cell
from tools.count_work import FILE, count, fit

_FAST = ("bert-micro", "vit-micro")
MICRO = [find(name) for name in model_sets()["micro"]]
REFITTED = [find(name) for name in ("bert-micro", "clip-micro", "qwen2-vl-micro")]
REAL = [find(name) for name in ("bert-base-uncased", "detr-resnet-50", "qwen3-vl-2b")]


def cases(models: Sequence[ModelSpec]) -> list[ParameterSet]:
    """The models; the suite that is fast holds two of them."""
    return [
        pytest.param(model, id=model.name, marks=() if model.name in _FAST else pytest.mark.slow)
        for model in models
    ]


def unfitted_cell(model: ModelSpec) -> Cell:
    """A shape that the polynomials were not made from."""
    return torch_cell(
        model,
        3,
        sequence_length=21 if model.takes_sequence else None,
        image_size=model.image_size and 4 * model.image_size.least,
        audio_seconds=model.audio_seconds and 4,
    )


@pytest.mark.parametrize("model", cases(MICRO))
def test_as_many_products_are_counted_as_torch_counts(model: ModelSpec) -> None:
    """With attention spelled out: torch's counter knows no fused attention on the CPU."""
    cell = unfitted_cell(model)
    network = instantiate(model, torch.float32)
    fill_parameters(network, seed=0)
    inputs = {name: torch.from_numpy(v) for name, v in synthesise(model, cell, 0).items()}
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        network(**inputs, **model.forward)
    counts = count(model, build_without_weights(model), cell)
    assert 2 * counts["macs"] == counter.get_total_flops()


@pytest.mark.parametrize("model", cases([*MICRO, *REAL]))
def test_the_catalogue_holds_at_another_shape(model: ModelSpec) -> None:
    cell = unfitted_cell(model)
    assert counts_of(model, cell) == count(model, build_without_weights(model), cell)


@pytest.mark.parametrize("model", cases(REFITTED))
def test_the_committed_counts_are_fresh(model: ModelSpec) -> None:
    committed = json.loads(FILE.read_text("utf-8"))
    assert set(committed) == set(catalogue())
    assert fit(model) == committed[model.name]
