"""Tokens that a session generates are the likeliest by its own logits, or it is wrong."""

import numpy as np
import pytest

from runner.correctness.verify import judge_choices
from tests.support.records import said
from tests.support.words import reason_words

LOGITS = np.array([[[0.0, 2.0, 1.0], [3.0, 0.0, 2.99]]], dtype=np.float32)
RIGHT = {"correct": True, "correct_reason": None, "tolerance_share": 0.3, "difference_where": "x"}


def judged(*tokens: int, most: float = 0.1, **columns: object) -> tuple[object, ...]:
    """The verdict, the place of the nearest difference and the reason."""
    judged = judge_choices({**RIGHT, **columns}, LOGITS, np.array([tokens]), most)
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
