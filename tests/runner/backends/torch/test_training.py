"""Training steps on torch: what is timed apart, and what a step does."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from runner.backends.torch.backend import TorchSession, open_session
from runner.backends.torch.training import TorchTrainer, find_criterion
from runner.contract.models import ModelSpec, TensorSpec, find
from runner.inputs import Inputs, synthesise, synthesise_labels
from tests.support.fakes import FakeClock
from tests.support.tiny_models import (
    VISION,
    image_inputs,
    tiny,
    tiny_decoder,
    tiny_encoder_decoder,
    tiny_vision_language,
    torch_job,
)

PIXELS = TensorSpec(name="pixel_values", kind="normal", shape=("batch_size", 3, 16, 16))
CLASSIFIER = tiny(
    "AutoModelForImageClassification",
    {"model_type": "vit", **VISION, "num_labels": 5},
    inputs=(PIXELS,),
    labels=TensorSpec(name="labels", kind="token_ids", shape=("batch_size",), high=5),
    forward={},
)
MODELS = {
    "masked": find("bert-tiny"),
    "decoder": tiny_decoder(),
    "encoder-decoder": tiny_encoder_decoder(),
    "classifier": CLASSIFIER,
    "vision-language": tiny_vision_language(),
}


def batch_of(model: ModelSpec, job: Any) -> Inputs:
    cell = job.cells[0]
    if model.modality == "multimodal":
        inputs = image_inputs(cell.batch_size)
        return {**inputs, "labels": inputs["input_ids"]}
    return {**synthesise(model, cell, 0), **synthesise_labels(model, cell, 0)}


@contextmanager
def training(
    model: ModelSpec, precision: str = "fp32", batch: Inputs | None = None
) -> Iterator[tuple[TorchSession, TorchTrainer]]:
    job = torch_job(model, precision=precision, mode="training")
    with closing(open_session(job, threads=1)) as session:
        labelled = batch if batch is not None else batch_of(model, job)
        with closing(session.bind_training(job.cells[0], labelled, FakeClock())) as trainer:
            yield session, trainer


@pytest.mark.representatives(4)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_the_loss_is_timed_apart_from_the_second_step_on(name: str, precision: str) -> None:
    with training(MODELS[name], precision) as (_, trainer):
        first, second, third = (trainer.step() for _ in range(3))
        assert first.loss_ns is None
        assert second.loss_ns is not None
        parts = (third.forward_ns, third.loss_ns, third.backward_ns, third.optimizer_ns)
        assert parts == (1, 1, 1, 1)
        assert third.ended_ns == third.started_ns + 4
        assert not trainer.unchanged()


@pytest.mark.representatives(2)
@pytest.mark.parametrize("name", MODELS)
def test_the_loss_taken_apart_is_the_models_own(name: str) -> None:
    with training(MODELS[name]) as (session, trainer):
        network: Any = session._model
        network.eval()  # without dropout both ways must give the same
        trainer.step()
        apart = trainer.step().loss
    with training(MODELS[name]) as (session, trainer):
        network = session._model
        network.eval()
        trainer.step()
        trainer._stepped = True
        trainer._criterion = None
        trainer._arguments["labels"] = trainer._labels  # as in the first step
        assert trainer.step().loss == apart


def test_a_loss_that_shifts_where_the_model_does_not_is_refused() -> None:
    with training(tiny_encoder_decoder()) as (session, trainer):
        network: Any = session._model
        trainer.step()
        labels = trainer._labels
        assert labels is not None
        outputs = network(**trainer._arguments, labels=labels)
        shifted = network.loss_function(outputs.logits, labels, vocab_size=100)
        assert not torch.equal(shifted, outputs.loss)
        criterion = find_criterion(network, outputs, labels)
        assert criterion is not None
        assert torch.equal(criterion(outputs.logits, labels), outputs.loss)


def test_a_model_trains_with_dropout_and_answers_without() -> None:
    with training(tiny_decoder()) as (session, trainer):
        assert session._model.training
        trainer.close()
        assert not session._model.training


@pytest.mark.parametrize(
    ("zeroed", "is_taught"),
    [
        (r"no such", True),
        (r".*\.h\.1\.attn\.", True),
        (r".*\.h\.1\.", False),
        (r".*\.wpe\.", False),
    ],
    ids=["none", "a part of a layer", "a whole layer", "a module without a number"],
)
def test_decay_changes_weights_whose_gradients_are_zero_but_teaches_nothing(
    zeroed: str, is_taught: bool
) -> None:
    shares = []
    for lost in (False, True):
        with training(tiny_decoder()) as (session, trainer), ExitStack() as hooks:
            named = session._model.named_parameters()
            names = [(name, one) for name, one in named if lost and re.match(zeroed, name)]
            for _, parameter in names:
                hooks.enter_context(parameter.register_hook(torch.zeros_like))
            trainer.step()
            shares.append(trainer.changed_share())
            assert not trainer.unchanged()
            assert trainer.untaught() == (() if is_taught else tuple(name for name, _ in names))
    assert (shares[1] < shares[0]) == bool(names)


def test_in_fp16_a_step_whose_gradients_overflow_is_skipped_and_the_scale_falls() -> None:
    with training(tiny_decoder(), "fp16") as (_, trainer):
        trainer._arithmetic._scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40)
        trainer._scale = trainer.scale
        assert trainer.step().skipped
        assert trainer.scale == 2.0**39
        assert trainer.unchanged()
        while trainer.step().skipped:
            pass
        assert not trainer.unchanged()


@pytest.mark.parametrize(
    ("precision", "pure", "kept"), [("bf16", None, "float32"), ("bf16", "pure", "bfloat16")]
)
def test_parameters_and_moments_are_kept_in_fp32_unless_pure(
    precision: str, pure: str | None, kept: str
) -> None:
    job = torch_job(tiny_decoder(), precision=precision, mode="training", training_precision=pure)
    with closing(open_session(job, threads=1)) as session:
        batch = batch_of(tiny_decoder(), job)
        with closing(session.bind_training(job.cells[0], batch, FakeClock())) as trainer:
            trainer.step()
            states = trainer._optimizer.state
            types = {one.dtype for one in states} | {s["exp_avg"].dtype for s in states.values()}
            assert types == {getattr(torch, kept)}
            assert (trainer.changed_share() > 0.9) == (pure is None)


def test_a_rehearsal_tells_of_one_step_and_leaves_no_trace() -> None:
    with training(tiny_decoder()) as (session, trainer):
        names = dict(session._model.named_parameters()).keys()
        step = trainer.rehearse()
        assert step.gradients.keys() == step.updates.keys() == names
        assert all(one.any() for one in step.gradients.values())
        assert all(
            np.abs(one).max() == pytest.approx(1e-5, rel=0.1) for one in step.updates.values()
        )
        assert session._model.training
        assert all(p.grad is None for p in session._model.parameters()), "cleared within the step"
