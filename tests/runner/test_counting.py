"""Counting without data, against torch's own counter on real tensors, and against the catalogue."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from _pytest.mark import ParameterSet
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from runner import counting
from runner.backends.torch.model import build_without_weights, fill_parameters, instantiate
from runner.contract.cell import Cell
from runner.contract.models import ModelSpec, find, model_sets
from runner.contract.models.counted import FORWARD_COUNTS, GENERATION_COUNTS
from runner.contract.models.work import catalogued_polynomials, counts_of
from runner.counting import PassCounts, count_forward, count_generation, count_work
from runner.inputs import synthesise
from tests.support.tiny_models import DECODER, tiny, torch_cell
from tests.support.words import words_of

_FAST = ("bert-micro", "vit-micro")
MICRO = [find(name) for name in model_sets()["micro"]]
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
        5,
        sequence_length=19 if model.takes_sequence else None,
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
    counts = count_forward(model, build_without_weights(model), cell)
    assert 2 * counts["macs"] == counter.get_total_flops()


@pytest.mark.representatives(6)
@pytest.mark.parametrize("model", cases([*MICRO, *REAL]))
def test_the_catalogue_holds_at_another_shape(model: ModelSpec) -> None:
    cell, network = unfitted_cell(model), build_without_weights(model)
    counts = count_forward(model, network, cell)
    if network.can_generate():
        counts |= count_generation(model, network, cell)
    assert counts_of(model, cell) == counts


@pytest.mark.parametrize(
    "name", ["bert-micro", *(pytest.param(n, marks=pytest.mark.slow) for n in ("opt-micro",))]
)
def test_a_job_counts_what_the_catalogue_holds_and_the_parameters(name: str) -> None:
    model = find(name)
    counted = count_work(model)
    assert counted.reason is None
    known = catalogued_polynomials(model) or {}
    assert counted.polynomials == {"parameters": {"": model.parameters}, **known}


def test_pretrained_weights_need_not_be_there_and_may_have_old_keys() -> None:
    config = {**DECODER, "a_key_of_an_older_release": 3}
    elsewhere = tiny("AutoModelForCausalLM", config, weights="pretrained")
    counted = count_work(elsewhere)
    assert (counted.reason, counted.polynomials.keys()) == (
        None,
        FORWARD_COUNTS | GENERATION_COUNTS,
    )
    typed = count_work(tiny("AutoModelForCausalLM", config))
    assert typed.polynomials == {}
    assert "has no a_key_of_an_older_release in its config" in str(words_of(typed.reason))


def test_what_depends_on_values_cannot_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def looks(spec: ModelSpec, model: Any, cell: Cell) -> PassCounts:
        return {"macs": int(torch.ones(1, device="meta").item())}

    monkeypatch.setattr(counting, "count_forward", looks)
    counted = count_work(find("bert-micro"))
    assert counted.polynomials == {}
    assert str(words_of(counted.reason)).startswith(
        "shapes or results depend on values, and it is counted"
    )
