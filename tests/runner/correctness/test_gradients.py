"""A training step against the reference's: what is compared, and what must be found."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch

from runner.backends.base import Rehearsal
from runner.backends.torch.training import SIZE, sketch
from runner.correctness.differences import AnyArray
from runner.correctness.gradients import compare_step, honest_step, step_arrays
from tests.support.jobs import fake_cell
from tests.support.words import reason_words

NORMAL = np.random.default_rng(0).standard_normal
WEIGHT, BIAS, KEY = NORMAL(4096), NORMAL(8), 1e-9 * NORMAL(8)
GRADIENTS: Mapping[str, AnyArray] = {"weight": WEIGHT, "bias": BIAS, "key.bias": KEY}


def a_step(loss: float = 2.0, **changes: AnyArray) -> dict[str, AnyArray]:
    gradients = {**GRADIENTS, **{name.replace("_", "."): one for name, one in changes.items()}}
    updates = {name: -1e-5 * np.sign(one) for name, one in gradients.items()}
    return step_arrays(Rehearsal(loss, gradients, updates))


def verdict(
    ours: dict[str, AnyArray], precision: str = "fp32", honest: dict[str, AnyArray] | None = None
) -> Mapping[str, Any]:
    cell = fake_cell(2, mode="training", precision=precision)
    reference = a_step()
    if honest is not None:
        reference |= honest_step(reference, honest, "mixed")
    return compare_step(cell, ours, reference)


NOISE = WEIGHT + 0.02 * NORMAL(4096)
NEAR, WIDE = WEIGHT + (NOISE - WEIGHT) / 2, WEIGHT + 3 * (NOISE - WEIGHT)
FAR = WEIGHT + 0.4 * NORMAL(4096)


@pytest.mark.parametrize(
    ("ours", "precision", "honest", "where"),
    [
        (a_step(), "fp32", None, None),
        (a_step(weight=NOISE), "bf16", None, None),
        (a_step(weight=NOISE), "fp16", a_step(weight=NOISE), None),
        (a_step(weight=NOISE), "fp16", a_step(weight=NEAR), "gradient of weight"),
        (a_step(weight=1.05 * WEIGHT), "fp16", a_step(weight=WIDE), None),
        (a_step(weight=NOISE), "fp32", None, "gradient of weight"),
        (a_step(weight=FAR), "bf16", None, "gradient of weight"),
        (a_step(weight=FAR), "bf16", a_step(weight=FAR), None),
        (a_step(weight=0 * WEIGHT), "bf16", a_step(weight=FAR), "of weight"),
        (a_step(weight=2 * WEIGHT), "bf16", None, "gradient of weight"),
        (a_step(key_bias=-KEY), "fp32", None, None),
        (a_step(loss=4.0), "bf16", None, "loss"),
        (a_step(loss=float("nan")), "bf16", None, "loss"),
    ],
)  # fmt: skip
def test_a_difference_counts_by_what_the_precision_itself_differs(
    ours: dict[str, AnyArray], precision: str, honest: dict[str, AnyArray] | None, where: str | None
) -> None:
    columns = verdict(ours, precision, honest)
    assert columns["correct"] is (where is None), columns
    assert where is None or where in columns["gradient_where"]
    assert (reason_words(columns, "correct") is None) == (where is None)


@pytest.mark.parametrize("name", ["weight", "bias"])
def test_a_parameter_that_no_step_changes_is_named(name: str) -> None:
    ours = a_step()
    ours[f"update.{name}"] *= 0
    columns = verdict(ours, "bf16")
    assert columns["correct"] is False
    assert f"update of {name} differs" in reason_words(columns, "correct")


@pytest.mark.parametrize(("turned", "correct"), [(1, True), (4, True), (16, False)])
def test_few_updates_may_turn_where_most_rows_of_a_table_are_not_used(
    turned: int, correct: bool
) -> None:
    reference, used = a_step(), slice(100)
    updates = np.full(4096, 1e-8, np.float32)
    updates[used] = 1e-5
    reference["update.weight"] = updates
    ours = {**a_step(), "update.weight": updates.copy()}
    ours["update.weight"][:turned] *= -1
    assert compare_step(fake_cell(2, mode="training"), ours, reference)["correct"] is correct


@pytest.mark.parametrize("size", [10, SIZE, 100_000])
def test_sketches_are_as_far_apart_as_their_tensors(size: int) -> None:
    generator = torch.Generator().manual_seed(1)
    ours, theirs = (torch.randn(size, generator=generator) for _ in range(2))
    ours[: size // 2] = theirs[: size // 2]
    distance = float(np.linalg.norm(sketch(ours) - sketch(theirs)))
    assert distance == pytest.approx(float((ours - theirs).norm()), rel=0.07)
    assert sketch(ours).size <= SIZE
