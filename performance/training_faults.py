"""Faults that a training step could have: each must turn `correct` false.

Each micro model takes a training step with one fault at a time, in each precision, and goes through
the runner's own verification and its check of what was learnt:
`python -m performance.training_faults bert-tiny,gpt2-micro`.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from performance.attention_faults import Fault, Model, hooked
from performance.broken_parts import Inapplicable, layers
from performance.own_arithmetic import job_of
from runner.backends.torch import training
from runner.backends.torch.backend import TorchSession, open_session
from runner.contract.axes import TrainingPrecision
from runner.contract.cell import Precision
from runner.contract.errors import BenchError
from runner.contract.job import Job
from runner.contract.models import model_sets
from runner.contract.record import Columns
from runner.correctness.reference import reference_arrays
from runner.correctness.verify import verify_session
from runner.measure.clock import monotonic
from runner.modes.training import TrainingWorkload


def lost_gradient(model: Model) -> AbstractContextManager[None]:
    """The last layer's gradients are 0."""
    parameters = list(layers(model)[-1].parameters())
    return hooked([one.register_hook(torch.zeros_like) for one in parameters])


@contextmanager
def frozen_parameter(model: Model) -> Iterator[None]:
    """The last weight of the last layer is not trained."""
    frozen = [one for one in layers(model)[-1].parameters() if one.ndim > 1][-1]
    frozen.requires_grad_(False)
    try:
        yield
    finally:
        frozen.requires_grad_(True)


@contextmanager
def no_update(model: Model) -> Iterator[None]:
    """The optimizer's step is not taken."""
    del model
    with patch.object(torch.optim.AdamW, "step", lambda *_, **__: None):
        yield


@contextmanager
def lost_update(model: Model) -> Iterator[None]:
    """The optimizer's step is taken and undone."""
    original = torch.optim.AdamW.step

    def step(optimizer: Any, *arguments: Any, **named: Any) -> None:
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        before = [one.detach().clone() for one in parameters]
        original(optimizer, *arguments, **named)
        with torch.no_grad():
            for one, value in zip(parameters, before, strict=True):
                one.copy_(value)

    del model
    with patch.object(torch.optim.AdamW, "step", step):
        yield


def _other_loss(change: Callable[[Any, Any, Any], Any]) -> Fault:
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


undivided_loss = _other_loss(lambda loss, logits, labels: loss(logits, labels) * len(labels))
"""The loss is not divided by the batch."""
half_of_batch = _other_loss(
    lambda loss, logits, labels: loss(logits[: len(logits) // 2], labels[: len(labels) // 2])
)
"""The second half of the batch is ignored."""

TRAINING_FAULTS: dict[str, Fault] = {
    "last layer's gradients are 0": lost_gradient,
    "one parameter is frozen": frozen_parameter,
    "optimizer's step not taken": no_update,
    "optimizer's step undone": lost_update,
    "loss not divided by the batch": undivided_loss,
    "half of the batch ignored": half_of_batch,
}

UNLEARNT = "unlearnt"
"""The column with what a workload's own check says, which knows no reference."""


def is_unlearnt(name: str) -> bool:
    """True if that check must find the fault of this name."""
    return TRAINING_FAULTS.get(name) in (lost_gradient, no_update, lost_update)


HONEST_STEP = "honest"
"""The row of the step without a fault."""
FORMATS: tuple[tuple[Precision, TrainingPrecision | None], ...] = (
    ("fp32", None),
    ("bf16", "mixed"),
    ("bf16", "pure"),
    ("fp16", None),
)


def training_verdicts(
    model: str, precision: Precision, training_precision: TrainingPrecision | None = None
) -> dict[str, Columns]:
    """By fault, the columns of the verification and `UNLEARNT`.

    Faults that do not apply are left out.
    """
    plain = job_of(model, "inference", precision)
    changes = {"mode": "training", "training_precision": training_precision, "new_tokens": None}
    cell = plain.cells[0].model_copy(update=changes)
    job = plain.model_copy(update={"cells": (cell,), "reference": "step"})
    compared = () if precision == "fp32" else (precision,)
    exact = cell.model_copy(update={"precision": "fp32", "training_precision": None})
    reference = job.model_copy(update={"cells": (exact,), "honest": compared})
    verdicts: dict[str, Columns] = {}
    with warnings.catch_warnings(action="ignore"), TemporaryDirectory() as folder:
        arrays = reference_arrays(reference, monotonic)
        np.savez(Path(folder) / "step.npz", allow_pickle=False, **arrays)
        for name, fault in {HONEST_STEP: nullcontext, **TRAINING_FAULTS}.items():
            try:
                verdicts[name] = _verdict(job, Path(folder), fault)
            except Inapplicable:
                continue
    return verdicts


def _verdict(job: Job, folder: Path, fault: Any) -> Columns:
    with closing(open_session(job, threads=1)) as session, fault(session._model):
        columns = verify_session(session, job, folder, monotonic)
        is_refused = columns["correct"] is None
        return {**columns, UNLEARNT: None if is_refused else _unlearnt(session, job)}


def _unlearnt(session: TorchSession, job: Job) -> str | None:
    with closing(TrainingWorkload(session, job, job.cells[0], monotonic)) as workload:
        workload()
        try:
            workload.check()
        except BenchError as error:
            return str(error)
    return None


def main() -> int:
    """Print a row for each model, precision and fault; 1 if a verdict is not what it must be."""
    models = sys.argv[1].split(",") if len(sys.argv) > 1 else model_sets()["micro"]
    wrong = 0
    for model in models:
        for precision, training_precision in FORMATS:
            verdicts = training_verdicts(model, precision, training_precision)
            refusal = verdicts[HONEST_STEP]["correct_code"]
            if verdicts[HONEST_STEP]["correct"] is None:
                print(f"{model:20} {precision:5} {training_precision or '':6} {refusal}")
                continue
            for name, columns in verdicts.items():
                missed = columns["correct"] is not (name == HONEST_STEP)
                unlearnt = columns[UNLEARNT] is not None
                missed |= unlearnt is not is_unlearnt(name)
                wrong += missed
                where = columns.get("gradient_where") or columns["correct_code"]
                mark = "  MISSED" if missed else ""
                number = columns.get("gradient_difference", np.nan)
                allowed = columns.get("gradient_tolerance", np.nan)
                print(
                    f"{model:20} {precision:5} {training_precision or '':6} {name:30} "
                    f"{number:9.2g} of {allowed:8.2g}  {where}{mark}",
                    flush=True,
                )
    print(f"{wrong} verdicts are not what they must be")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
