"""Linear layers become int8, wherever they hide, and say how many there are."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
import torch

from runner.backends.torch.backend import TorchSession, open_session
from runner.backends.torch.device import wait_for
from runner.backends.torch.int8 import Int8Linear, quantise, quantised_types
from runner.backends.torch.model import fill_parameters, instantiate
from runner.backends.torch.query import TorchGenerator, TorchQuery, float_arrays
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec, find, model_sets
from runner.correctness.compare_outputs import tolerance_of
from runner.correctness.differences import relative_difference
from runner.correctness.reference import fixed_cell
from runner.inputs import Inputs, synthesise
from tests.support.fakes import FakeClock
from tests.support.tiny_models import tiny_decoder, tiny_encoder_decoder, torch_job
from tests.support.words import raises_words

JOB = torch_job(tiny_decoder(), precision="int8", new_tokens=3)
MODELS = [tiny_decoder(), tiny_encoder_decoder()]
ALLOWED = tolerance_of("int8", None).relative


def outputs(model: ModelSpec, precision: str) -> Inputs:
    job = torch_job(model, precision=precision)
    with closing(open_session(job, threads=1)) as session:
        query = session.bind(job.cells[0], synthesise(model, job.cells[0], 0))
        return session.arrays(query())


def filled(model: ModelSpec) -> torch.nn.Module:
    module = instantiate(model, torch.float32)
    fill_parameters(module, 0)
    return module


def tensors(model: ModelSpec) -> dict[str, torch.Tensor]:
    inputs = synthesise(model, fixed_cell(torch_job(model)), 0)
    return {name: torch.from_numpy(array) for name, array in inputs.items()}


def answers(module: torch.nn.Module, model: ModelSpec) -> Inputs:
    return float_arrays(
        TorchQuery(module, tensors(model), model.forward, wait_for(torch.device("cpu")))()
    )


@pytest.mark.parametrize("model", MODELS, ids=["decoder", "encoder-decoder"])
def test_outputs_stay_near_those_of_fp32(model: ModelSpec) -> None:
    ours, theirs = outputs(model, "int8"), outputs(model, "fp32")
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert 0 < relative_difference(ours[name], theirs[name]) < ALLOWED


@pytest.fixture
def session() -> Iterator[TorchSession]:
    with closing(open_session(JOB, threads=1)) as session:
        yield session


def test_a_record_says_how_and_how_much(session: TorchSession) -> None:
    with closing(open_session(torch_job(tiny_decoder()), threads=1)) as whole:
        assert session.parameters == whole.parameters
        assert whole.columns["quantization"] is None
    method = str(session.columns["quantization"])
    assert method.startswith("torch.ao dynamic (")
    assert "5 linear layers, 79% of the parameters" in method
    assert str(session.columns["inference_precision"]).startswith("torch.qint8 in linear layers")


def test_int8_is_proven_and_generates_but_does_not_train(session: TorchSession) -> None:
    inputs = synthesise(JOB.model, JOB.cells[0], 0)
    proof, evidence = session.prove(session.bind(JOB.cells[0], inputs))
    assert (proof, evidence["parameter_types"]) == ("proven", "torch.float32+torch.qint8")
    generate = session.bind_generation(JOB.cells[0], inputs, FakeClock())
    assert generate().tokens.shape == (2, 3)
    with raises_words(Unsupported, match="whole numbers have no gradients"):
        session.bind_training(JOB.cells[0], {}, FakeClock())


@pytest.mark.representatives(6)
@pytest.mark.parametrize("name", model_sets()["micro"])
def test_layers_for_gpus_stay_near_fp32_in_every_architecture(name: str) -> None:
    """They are the same layers on a CPU, whose torch multiplies whole numbers as well."""
    model = find(name)
    module = filled(model)
    theirs = answers(module, model)
    method = quantise(module, "cuda")
    ours = answers(module, model)
    assert method.startswith("torch._int_mm dynamic: ")
    assert method.endswith("weights per channel, activations per token")
    assert quantised_types(module) == {"torch.int8"}
    assert ours.keys() == theirs.keys()
    assert all(0 <= relative_difference(ours[item], theirs[item]) < ALLOWED for item in theirs)
    assert any((ours[item] != theirs[item]).any() for item in theirs)
    if name == "gpt2-micro":
        generated = TorchGenerator(module, tensors(model), 3, FakeClock())()
        assert generated.tokens.shape == (2, 3)


@pytest.mark.parametrize("sizes", [(8, 16), (5, 3), (64, 1)], ids=str)
@pytest.mark.parametrize("rows", [(1,), (16,), (17,), (2, 3, 4)], ids=str)
def test_a_product_over_whole_numbers_is_as_defined(
    sizes: tuple[int, int], rows: tuple[int, ...]
) -> None:
    linear = torch.nn.Linear(*sizes)
    weight, bias = linear.weight.detach().numpy(), linear.bias.detach().numpy()
    x = np.random.default_rng(0).standard_normal((*rows, sizes[0]), dtype=np.float32)
    x_scale, scale = (
        np.abs(array).max(axis=-1, keepdims=True) / np.float32(127) for array in (x, weight)
    )
    sums = np.round(x / x_scale) @ np.round(weight / scale).T
    with torch.no_grad():
        result = Int8Linear(linear)(torch.from_numpy(x)).numpy()
    assert result.shape == (*rows, sizes[1])
    assert np.allclose(result, sums * x_scale * scale.T + bias, rtol=1e-5, atol=1e-6)
