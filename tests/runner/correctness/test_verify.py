"""Correctness is a finding beside the numbers, and never a failure of the cell."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from runner.backends.base import Generated, Session
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.job import Job
from runner.correctness.reference import GENERATED_TOKENS, compute_outputs, fixed_cell
from runner.correctness.verify import join_verified, judge_choices, verify_session
from runner.measure.clock import monotonic
from tests.support.jobs import a_job, fake_cell
from tests.support.records import said
from tests.support.words import reason_words

LOGITS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(2, 6)


class Repeating:
    """A generator of the same tokens each time."""

    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens

    def __call__(self) -> Generated:
        return Generated(0, [1], np.array([self.tokens]))


class Answering:
    """A session that answers every query with the same outputs and tokens."""

    def __init__(self, logits: np.ndarray = LOGITS, tokens: list[int] | None = None) -> None:
        self.logits, self.tokens = logits, tokens
        self.bound: list[Cell] = []

    def bind(self, cell: Cell, inputs: Any) -> Any:
        self.bound.append(cell)
        return lambda: self.logits

    def bind_generation(self, cell: Cell, inputs: Any, clock: Any) -> Any:
        if self.tokens is None:
            raise Unsupported("it generates nothing")
        return Repeating(self.tokens)

    def arrays(self, outputs: Any) -> Any:
        return {"logits": outputs}


def session(**values: Any) -> Session:
    return cast("Session", Answering(**values))


NAMED = {"reference": "outputs"}
JOB = a_job([fake_cell(7, sequence_length=64)]).model_copy(update=NAMED)
GENERATION = a_job([fake_cell(mode="generation", new_tokens=4)]).model_copy(
    update={"reference": "outputs-and-tokens"}
)


@pytest.fixture
def references(tmp_path: Path) -> Path:
    tokens = np.array([[1, 2, 3, 4]])
    outputs = {"logits": LOGITS, "second.logits": LOGITS}
    np.savez(tmp_path / "outputs.npz", **outputs)
    np.savez(tmp_path / "outputs-and-tokens.npz", **outputs, **{GENERATED_TOKENS: tokens})
    return tmp_path


def test_every_cell_of_a_model_is_compared_at_one_fixed_shape() -> None:
    ours = Answering()
    compute_outputs(cast("Session", ours), JOB)
    cell, second = ours.bound
    assert (cell.batch_size, cell.sequence_length) == (2, 32)
    assert second == cell
    assert fixed_cell(a_job([fake_cell(1, sequence_length=8)])) == cell


def test_outputs_are_compared_and_the_tokens_of_generation_too(references: Path) -> None:
    result = verify_session(session(), JOB, references, monotonic)
    assert (result["correct"], result["cosine_similarity"]) == (True, pytest.approx(1))
    assert (result["token_agreement"], result["verified_shape"]) == (None, "b2-s32")
    result = verify_session(session(logits=-LOGITS), JOB, references, monotonic)
    assert result["correct"] is False
    assert "differ from the fp32 reference" in reason_words(result, "correct")
    result = verify_session(session(tokens=[1, 2, 3, 9]), GENERATION, references, monotonic)
    assert (result["correct"], result["token_agreement"]) == (True, 0.75)


def test_what_prevents_the_comparison_is_its_reason(tmp_path: Path) -> None:
    def reason(folder: Path | None = tmp_path, job: Job = JOB) -> str:
        result = verify_session(session(), job, folder, monotonic)
        assert result["correct"] is None
        assert "verified_shape" not in result
        return str(reason_words(result, "correct"))

    assert reason(folder=None) == "no reference: the launcher gave none"
    unnamed = JOB.model_copy(update={"reference": None})
    assert reason(job=unnamed) == "no reference: the launcher gave none"
    assert reason() == "no reference: not computed"
    (tmp_path / "outputs.failed").write_text("MemoryError: too big\n")
    assert reason() == "no reference: MemoryError: too big"
    (tmp_path / "outputs.npz").write_bytes(b"no archive")
    assert reason().startswith("not compared: ")


RIGHT = {"correct": True, "tolerance_share": 0.4, "verified_shape": "b2"}
WRONG = {"correct": False, **said("correct", "far"), "tolerance_share": 4.0, "verified_shape": "b9"}


@pytest.mark.parametrize(
    ("fixed", "timed", "correct", "reason", "shape"),
    [
        (RIGHT, {}, True, None, "b2"),
        (RIGHT, RIGHT | {"verified_shape": "b9"}, True, None, "b2, b9"),
        (RIGHT, WRONG, False, "far", "b2, b9"),
        (WRONG, RIGHT, False, "far", "b9, b2"),
        (RIGHT, {"correct": None, **said("correct", "refused")}, None, "refused", None),
        ({"correct": None, **said("correct", "no reference")}, {}, None, "no reference", None),
        ({"correct": None, **said("correct", "untold")}, WRONG, False, "far", "b9"),
        ({"correct": None, **said("correct", "untold")}, RIGHT, None, "untold", None),
    ],
)
def test_the_worse_of_both_shapes_counts(
    fixed: Any, timed: Any, correct: bool | None, reason: str | None, shape: str | None
) -> None:
    columns = join_verified(fixed, timed)
    assert columns["correct"] is correct
    assert (reason_words(columns, "correct"), columns.get("verified_shape")) == (reason, shape)


CHOICES = np.array([[[0.0, 2.0, 1.0], [3.0, 0.0, 2.99]]], dtype=np.float32)
AGREEING = {"correct": True, "tolerance_share": 0.3, "difference_where": "x"}


def judged(*tokens: int, most: float = 0.1, **columns: object) -> tuple[object, ...]:
    """The verdict, the place of the nearest difference and the reason."""
    judged = judge_choices({**AGREEING, **columns}, CHOICES, np.array([tokens]), most)
    return judged["correct"], judged["difference_where"], reason_words(judged, "correct")


@pytest.mark.parametrize(
    ("tokens", "where", "reason"),
    [
        ((1, 0), "x", None),
        ((1, 2), "x", None),
        (
            (0, 0),
            "choice of tokens",
            "1 of 2 generated tokens are not the likeliest by its own logits",
        ),
    ],
    ids=["the likeliest", "nearly as likely", "drawn"],
)
def test_a_token_that_is_less_likely_is_wrong(
    tokens: tuple[int, ...], where: str, reason: str | None
) -> None:
    assert judged(*tokens) == (reason is None, where, reason)


def test_a_drawn_token_is_wrong_where_nothing_else_could_be_told() -> None:
    correct, _, reason = judged(0, 0, correct=None, correct_reason="rounding may do that")
    assert correct is False
    assert "not the likeliest" in str(reason)


def test_outputs_that_are_wrong_keep_their_reason() -> None:
    wrong = {"correct": False, "tolerance_share": 2.0, **said("correct", "far")}
    assert judged(0, 0, **wrong) == (False, "choice of tokens", "far")
    assert judged(0, 0, correct=False, tolerance_share=1e9, **said("correct", "shapes differ")) == (
        False,
        "x",
        "shapes differ",
    )
