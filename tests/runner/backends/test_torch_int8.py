"""Linear layers become int8, wherever they hide, and say how many there are."""

from contextlib import closing

import pytest
import torch
from transformers.pytorch_utils import Conv1D

from runner.agreement import TOLERANCES, relative
from runner.backends.torch import open_session
from runner.backends.torch_int8 import quantise, quantised_types
from runner.errors import Unsupported
from runner.inputs import Inputs, synthesise
from runner.models import ModelSpec
from tests.fakes import FakeClock
from tests.tiny_models import tiny_decoder, tiny_encoder_decoder, torch_job

pytestmark = pytest.mark.torch

MODELS = [tiny_decoder(), tiny_encoder_decoder()]


def outputs(model: ModelSpec, precision: str) -> Inputs:
    job = torch_job(model, precision=precision)
    with closing(open_session(job, threads=1)) as session:
        query = session.bind(job.cells[0], synthesise(model, job.cells[0], 0))
        return session.arrays(query())


@pytest.mark.parametrize("model", MODELS, ids=["decoder", "encoder-decoder"])
def test_outputs_stay_near_those_of_fp32(model: ModelSpec) -> None:
    ours, theirs = outputs(model, "int8"), outputs(model, "fp32")
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert 0 < relative(ours[name], theirs[name]) < TOLERANCES["int8"]


def test_a_record_says_how_and_how_much() -> None:
    job = torch_job(tiny_decoder(), precision="int8")
    with closing(open_session(job, threads=1)) as session:
        columns = session.columns
        fp32 = torch_job(tiny_decoder())
        with closing(open_session(fp32, threads=1)) as whole:
            assert session.parameters == whole.parameters
            assert whole.columns["quantization"] is None
    method = str(columns["quantization"])
    assert method.startswith("torch.ao dynamic (")
    assert "9 linear layers, 84% of the parameters" in method
    assert str(columns["inference_precision"]).startswith("torch.qint8 in linear layers")


def test_the_proof_counts_weights_that_are_no_parameters_any_more() -> None:
    job = torch_job(tiny_decoder(), precision="int8")
    with closing(open_session(job, threads=1)) as session:
        proof, evidence = session.prove(
            session.bind(job.cells[0], synthesise(job.model, job.cells[0], 0))
        )
    assert proof == "proven"
    assert evidence["parameter_types"] == "torch.float32+torch.qint8"


def test_int8_generates_but_does_not_train() -> None:
    job = torch_job(tiny_decoder(), precision="int8", new_tokens=3)
    cell = job.cells[0]
    with closing(open_session(job, threads=1)) as session:
        generate = session.bind_generation(cell, synthesise(job.model, cell, 0), FakeClock())
        assert generate().tokens.shape == (cell.batch_size, 3)
        with pytest.raises(Unsupported, match="whole numbers have no gradients"):
            session.bind_training(cell, {}, FakeClock())


def test_gpt2s_turned_layers_are_linear_ones() -> None:
    turned = torch.nn.Sequential(Conv1D(3, 5))
    inputs = torch.randn(4, 5)
    with torch.no_grad():
        before = turned(inputs)
        quantise(turned)
        assert relative(turned(inputs).numpy(), before.numpy()) < TOLERANCES["int8"]
    assert quantised_types(turned) == {"torch.qint8"}


def test_a_model_without_linear_layers_has_nothing_to_quantise() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 1, 3), torch.nn.LayerNorm(4))
    with pytest.raises(Unsupported, match="this model has Conv2d, LayerNorm only"):
        quantise(model)
    assert quantised_types(model) == set()
