"""Evidence of number types: weights that are not the reference's, products of another type."""

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from performance.sabotage.parts import to_integers
from performance.sessions import modes_of, verification_job
from runner.backends.base import Session
from runner.backends.torch.backend import TorchSession, open_session
from runner.contract.axes import Precision
from runner.contract.job import Job
from runner.contract.models import model_sets
from runner.contract.record.record import Columns
from runner.correctness.named_precision import judge_products, judge_weights, round_to, with_reason
from runner.correctness.reference import reference_arrays
from runner.correctness.verify import verify_session
from runner.inputs import synthesise
from runner.measure.clock import monotonic
from tests.support.jobs import fake_cell
from tests.support.siblings import siblings
from tests.support.words import reason_words

WEIGHTS = {
    "a": np.linspace(-3, 3, 101, dtype=np.float32),
    "b": np.random.default_rng(0).standard_normal(64).astype(np.float32),
}
TORCHS: Mapping[Precision, torch.dtype] = {"bf16": torch.bfloat16, "fp16": torch.float16}
HALVES: tuple[Precision, ...] = ("bf16", "fp16")
EVERY_KIND = {
    "bert-micro": "a text encoder",
    "llama-micro": "a decoder",
    "t5-micro": "an encoder with a decoder",
    "vit-micro": "images",
    "clip-micro": "images and text",
    "wav2vec2-micro": "sound",
}


def showing(**shown: Any) -> Session:
    weights = shown.pop("weights", None)
    methods = {} if weights is None else {"weights": lambda: weights}
    return cast("Session", SimpleNamespace(**shown, **methods))


@pytest.mark.parametrize("precision", HALVES)
@given(arrays(np.float32, 20, elements=st.floats(-7e4, 7e4, width=32)))
def test_values_are_rounded_as_torch_rounds_them(precision: Precision, values: np.ndarray) -> None:
    expected = torch.from_numpy(values).to(TORCHS[precision]).float().numpy()
    assert np.array_equal(round_to(precision, values), expected)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16", "int8"])
def test_weights_are_the_references_in_the_cells_precision_or_fp32(precision: Precision) -> None:
    ours = {name: round_to(precision, values) for name, values in WEIGHTS.items()}
    kept = ours | {"b": WEIGHTS["b"], "scale": np.ones(3, np.float32)}
    for weights in (ours, kept, {"a": ours["a"]}, {}):
        assert judge_weights(precision, showing(weights=weights), WEIGHTS) is None
    assert judge_weights(precision, showing(), WEIGHTS) is None
    assert judge_weights(precision, showing(weights=ours), {}) is None
    other: dict[Precision, Precision] = {"fp32": "bf16", "bf16": "fp16", "fp16": "bf16"}
    changed = ours | {"b": round_to(other.get(precision, "fp16"), WEIGHTS["b"])}
    reason = judge_weights(precision, showing(weights=changed), WEIGHTS)
    assert reason is not None
    assert reason.facts == {"others": "1", "compared": "2", "first": "b", "precision": precision}
    missing = ours | {"b": ours["b"][:-1]}
    assert judge_weights(precision, showing(weights=missing), WEIGHTS) is not None


@pytest.mark.parametrize(
    ("precision", "products", "fits"),
    [
        ("fp32", {"fp32": 9}, True),
        ("fp32", {"fp32": 9, "fp64": 1}, True),
        ("fp32", {"fp32": 9, "bf16": 1}, False),
        ("bf16", {"bf16": 9}, True),
        ("bf16", {"bf16": 5, "fp32": 5}, True),
        ("bf16", {"bf16": 4, "fp32": 5}, False),
        ("bf16", {"fp32": 9}, False),
        ("bf16", {"bf16": 9, "fp16": 1}, False),
        ("bf16", {"bf16": 9, "int8": 1}, False),
        ("fp16", {"fp16": 9, "fp32": 1}, True),
        ("fp16", {"fp16": 9, "float8_e4m3fn": 1}, False),
        ("fp16", {"bf16": 9}, False),
        ("int8", {"int8": 1, "fp32": 9}, True),
        ("int8", {"fp32": 9}, False),
        ("int8", {}, True),
        ("fp32", None, True),
    ],
)
def test_products_of_a_narrower_type_or_too_few_of_the_named_one_contradict_it(
    precision: Precision, products: dict[str, int] | None, fits: bool
) -> None:
    cell = fake_cell(precision=precision)
    reason = judge_products(cell, showing(products=products))
    assert (reason is None) is fits
    assert judge_products(cell, showing()) is None
    columns = with_reason({"correct": True}, reason)
    assert columns["correct"] is fits
    if not fits:
        assert f"names {precision}, but its matrix products are" in reason_words(columns, "correct")


def test_outputs_that_are_wrong_keep_their_reason_and_what_was_not_compared_becomes_wrong() -> None:
    reason = judge_products(fake_cell(precision="bf16"), showing(products={"fp32": 2}))
    wrong = {"correct": False, "correct_code": "outputs_differ"}
    assert with_reason(wrong, reason) == wrong
    unknown = {"correct": None, "correct_code": "not_verified", "correct_facts": {}}
    assert with_reason(unknown, reason)["correct_code"] == "products_differ"
    assert with_reason(unknown, None) == unknown


class Verified:
    """A micro model with its reference, verified as it is and with faults."""

    def __init__(self, model: str, folder: Path) -> None:
        self._job = verification_job(model, modes_of(model)[-1], "fp32")
        self._folder = folder
        arrays_ = reference_arrays(self._job, monotonic)
        np.savez(folder / f"{self._job.reference}.npz", allow_pickle=False, **arrays_)

    def columns(
        self, precision: Precision, break_: Callable[[TorchSession], object] = lambda _: None
    ) -> Columns:
        cell = self._job.cells[0].model_copy(update={"precision": precision})
        job: Job = self._job.model_copy(update={"cells": (cell,)})
        with closing(open_session(job, threads=1)) as session:
            break_(session)
            query = session.bind(cell, synthesise(job.model, cell, 0))
            with suppress(RuntimeError):
                session.prove(query)
            columns = verify_session(session, job, self._folder, monotonic)
            return with_reason(columns, judge_products(cell, session))


@torch.no_grad()
def round_weights(session: TorchSession) -> None:
    for parameter in session._model.parameters():
        if parameter.ndim > 1:
            parameter.copy_(to_integers(parameter, 127))


def stretch_outputs(session: TorchSession) -> None:
    arrays_ = session.arrays

    def stretched(outputs: object) -> dict[str, Any]:
        return {name: array * np.float32(1.02) for name, array in arrays_(outputs).items()}

    session.arrays = stretched  # type: ignore[method-assign]


def compute_in_fp32(session: TorchSession) -> None:
    session._model.float()
    session._dtype = torch.float32


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", siblings(sorted({*EVERY_KIND, *model_sets()["micro"]}), keep=sorted(EVERY_KIND))
)
def test_weights_of_8_bits_and_outputs_2_percent_too_large_are_wrong_and_honest_ones_right(
    model: str, tmp_path: Path
) -> None:
    verified = Verified(model, tmp_path)
    for precision in ("fp32", "bf16", "fp16", "int8"):
        honest = verified.columns(precision)
        assert (honest["correct"], honest["correct_code"]) == (True, None)
        assert honest["tolerance_share"] < 0.7
        assert verified.columns(precision, stretch_outputs)["correct"] is False
    for precision in HALVES:
        assert verified.columns(precision, round_weights)["correct"] is False


@pytest.mark.slow
def test_a_small_model_shows_by_its_weights_what_its_outputs_hide(tmp_path: Path) -> None:
    verified = Verified("vit-micro", tmp_path)
    assert verified.columns("bf16")["correct"] is True
    for break_, words in (
        (round_weights, "16 of 40 parameters"),
        (compute_in_fp32, "names bf16, but its matrix products are computed in fp32"),
    ):
        columns = verified.columns("bf16", break_)
        assert (columns["correct"], columns["tolerance_share"] < 1) == (False, True)
        assert words in reason_words(columns, "correct")
    assert verified.columns("bf16", stretch_outputs)["correct"] is False
