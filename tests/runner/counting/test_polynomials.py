"""Counting without data, against torch's own counter on real tensors, and against the catalogue."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from _pytest.mark import ParameterSet
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from runner.backends.torch.model import build_without_weights, instantiate
from runner.backends.torch.random_weights import fill_parameters
from runner.contract.cell import Cell
from runner.contract.models import AxisRange, ModelSpec, TensorSpec, find, model_sets
from runner.contract.models.counted import FORWARD_COUNTS, GENERATION_COUNTS
from runner.contract.models.work import catalogued_polynomials, counts_of
from runner.counting import polynomials
from runner.counting.passes import PassCounts, count_forward, count_generation
from runner.counting.polynomials import count_work, fit_forward
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

    monkeypatch.setattr(polynomials, "count_forward", looks)
    counted = count_work(find("bert-micro"))
    assert counted.polynomials == {}
    assert str(words_of(counted.reason)).startswith(
        "shapes or results depend on values, and it is counted"
    )


def test_work_that_is_no_polynomial_is_refused_at_a_shape_that_was_not_fitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def pads(spec: ModelSpec, model: Any, cell: Cell) -> PassCounts:
        length = cell.sequence_length or 0
        return {"macs": cell.batch_size * -(-length // 8) * 8}

    monkeypatch.setattr(polynomials, "count_forward", pads)
    reason = (
        "the work of bert-micro is no polynomial of its sizes: at b3-s21 macs is 72, "
        "and 63 follows from other shapes"
    )
    assert words_of(count_work(find("bert-micro")).reason) == reason


def test_a_generation_that_cannot_be_counted_leaves_the_forward_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def recurs(spec: ModelSpec, model: Any, cell: Cell) -> PassCounts:
        raise AttributeError("no keys in this cache")

    monkeypatch.setattr(polynomials, "count_generation", recurs)
    counted = count_work(tiny("AutoModelForCausalLM", DECODER))
    assert counted.polynomials.keys() == FORWARD_COUNTS
    assert words_of(counted.reason) == "generation: AttributeError: no keys in this cache"


def test_shapes_stay_within_what_a_model_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[tuple[int | None, ...]] = []

    def notes(spec: ModelSpec, model: Any, cell: Cell) -> PassCounts:
        shapes.append((cell.sequence_length, cell.image_size))
        return {"macs": cell.batch_size}

    monkeypatch.setattr(polynomials, "count_forward", notes)
    short = find("bert-micro").model_copy(update={"max_sequence_length": 4})
    fit_forward(short, None)
    image = TensorSpec(name="x", kind="normal", shape=("batch_size", "image_size"))
    seeing = {"inputs": (image,), "image_size": AxisRange(default=96, most=128, multiple_of=32)}
    fit_forward(find("vit-micro").model_copy(update=seeing), None)
    assert {length for length, _ in shapes} == {4, 2, 1, 3, None}
    assert {side for _, side in shapes} == {None, 96, 32, 64, 128}


def test_a_model_of_one_shape_is_refused() -> None:
    tiniest = find("bert-micro").model_copy(update={"max_sequence_length": 1})
    assert "takes too few shapes" in str(words_of(count_work(tiniest).reason))


def test_a_mixture_of_experts_is_refused() -> None:
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "vocab_size": 100}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "num_local_experts": 2}
    mixture = tiny("AutoModelForCausalLM", {"model_type": "mixtral", **sizes, **heads})
    reason = "tiny chooses among experts (MixtralExperts) by values, and is counted without any"
    assert words_of(count_work(mixture).reason) == reason
