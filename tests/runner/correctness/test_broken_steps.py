"""Training steps with a fault are wrong in every precision, and honest ones right."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch

from performance.sabotage.attention import Fault, Model, hooked
from performance.sabotage.parts import Inapplicable, layers
from performance.sessions import verification_job
from runner.backends.torch import training
from runner.backends.torch.backend import open_session
from runner.contract.axes import Precision, TrainingPrecision
from runner.contract.errors import BenchError
from runner.contract.job import Job
from runner.correctness.reference import reference_arrays
from runner.correctness.verify import verify_session
from runner.measure.clock import monotonic
from runner.modes.training import TrainingWorkload
from tests.support.siblings import siblings

OF_THE_LOSS = {"loss not divided by the batch", "half of the batch ignored"}


def lost_gradient(model: Model) -> AbstractContextManager[None]:
    parameters = list(layers(model)[-1].parameters())
    return hooked([parameter.register_hook(torch.zeros_like) for parameter in parameters])


@contextmanager
def frozen_parameter(model: Model) -> Iterator[None]:
    weights = [value for value in layers(model)[-1].parameters() if value.ndim > 1]
    weights[-1].requires_grad_(False)
    try:
        yield
    finally:
        weights[-1].requires_grad_(True)


@contextmanager
def no_update(model: Model) -> Iterator[None]:
    del model
    with patch.object(torch.optim.AdamW, "step", lambda *_, **__: None):
        yield


@contextmanager
def lost_update(model: Model) -> Iterator[None]:
    """The optimizer's step is taken and undone."""
    original = torch.optim.AdamW.step

    def step(optimizer: Any, *arguments: Any, **named: Any) -> None:
        parameters = [value for group in optimizer.param_groups for value in group["params"]]
        before = [value.detach().clone() for value in parameters]
        original(optimizer, *arguments, **named)
        with torch.no_grad():
            for parameter, value in zip(parameters, before, strict=True):
                parameter.copy_(value)

    del model
    with patch.object(torch.optim.AdamW, "step", step):
        yield


def other_loss(change: Callable[[Any, Any, Any], Any]) -> Fault:
    """Another criterion in the place of the model's own; it takes that one, logits and labels."""

    @contextmanager
    def fault(model: Model) -> Iterator[None]:
        del model
        original, changed = training.find_criterion, []

        def find(*arguments: Any) -> Any:
            criterion = original(*arguments)
            changed.append(criterion)
            return criterion and partial(change, criterion)

        with patch.object(training, "find_criterion", find):
            yield
        if not any(changed):
            raise Inapplicable

    return fault


def half(values: Any) -> Any:
    return values[: len(values) // 2]


FAULTS: dict[str, Fault] = {
    "honest": lambda _: nullcontext(),
    "last layer's gradients are 0": lost_gradient,
    "one parameter is frozen": frozen_parameter,
    "optimizer's step not taken": no_update,
    "optimizer's step undone": lost_update,
    "loss not divided by the batch": other_loss(
        lambda loss, logits, labels: loss(logits, labels) * len(labels)
    ),
    "half of the batch ignored": other_loss(
        lambda loss, logits, labels: loss(half(logits), half(labels))
    ),
}
UNLEARNT = (lost_gradient, no_update, lost_update)
"""Faults that a workload's own check finds, which knows no reference."""
FORMATS: tuple[tuple[Precision, TrainingPrecision | None], ...] = (
    ("fp32", None),
    ("bf16", "mixed"),
    ("bf16", "pure"),
    ("fp16", None),
)


def learns(session: Any, job: Job) -> bool:
    with closing(TrainingWorkload(session, job, job.cells[0], monotonic)) as workload:
        workload()
        try:
            workload.check()
        except BenchError:
            return False
    return True


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model", siblings(["bert-micro", "gpt2-micro", "clip-micro"], keep=["bert-micro"])
)
@pytest.mark.parametrize(
    ("precision", "training_precision"), siblings(FORMATS, keep=[("bf16", "pure")])
)
def test_each_fault_of_a_step_is_found(
    model: str, precision: Precision, training_precision: TrainingPrecision | None, tmp_path: Path
) -> None:
    plain = verification_job(model, "inference", precision)
    changes = {"mode": "training", "training_precision": training_precision, "new_tokens": None}
    cell = plain.cells[0].model_copy(update=changes)
    job = plain.model_copy(update={"cells": (cell,), "reference": "step"})
    compared = () if precision == "fp32" else (precision,)
    exact = cell.model_copy(update={"precision": "fp32", "training_precision": None})
    reference = job.model_copy(update={"cells": (exact,), "honest": compared})
    np.savez(tmp_path / "step.npz", allow_pickle=False, **reference_arrays(reference, monotonic))
    tried = set()
    for name, fault in FAULTS.items():
        try:
            with closing(open_session(job, threads=1)) as session, fault(session._model):
                columns = verify_session(session, job, tmp_path, monotonic)
                is_learnt = learns(session, job)
        except Inapplicable:
            continue
        tried.add(name)
        assert columns["correct"] is (name == "honest"), (name, columns)
        assert is_learnt != (fault in UNLEARNT), name
    # The loss of clip knows no labels.
    assert tried == FAULTS.keys() - (OF_THE_LOSS if model == "clip-micro" else set())
