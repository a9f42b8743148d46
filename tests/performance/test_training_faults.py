"""Training steps with a fault are wrong in every precision, and honest ones right."""

import pytest

from performance.training_faults import (
    FORMATS,
    HONEST_STEP,
    TRAINING_FAULTS,
    UNLEARNT,
    is_unlearnt,
    training_verdicts,
)
from runner.contract.axes import TrainingPrecision
from runner.contract.cell import Precision
from tests.support.siblings import siblings


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", siblings(["bert-micro", "gpt2-micro", "clip-micro"], keep=["bert-micro"])
)
@pytest.mark.parametrize(
    ("precision", "training_precision"),
    siblings(FORMATS, keep=[("bf16", "pure")]),
)
def test_each_fault_of_a_step_is_found(
    model: str, precision: Precision, training_precision: TrainingPrecision | None
) -> None:
    verdicts = training_verdicts(model, precision, training_precision)
    of_loss = {"loss not divided by the batch", "half of the batch ignored"}
    lacking = of_loss if model == "clip-micro" else set()  # its loss knows no labels
    assert verdicts.keys() == {HONEST_STEP, *TRAINING_FAULTS} - lacking
    for name, columns in verdicts.items():
        assert columns["correct"] is (name == HONEST_STEP), (name, columns)
        assert (columns[UNLEARNT] is not None) == is_unlearnt(name), (name, columns[UNLEARNT])
