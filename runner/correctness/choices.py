"""Greedy choices: each token that was generated must be the likeliest by the session's own logits.

Teacher forcing compares the logits and never looks at what is chosen by them, and agreement with
the reference's tokens decides nothing, since one near tie changes all that follow. So the session
is made to take its own tokens again, and none may lack more than the last bits, which a kernel may
round otherwise the second time.
"""

from typing import Any

import numpy as np

from runner.backends.base import FloatArray
from runner.backends.graphs.feeds import Tokens
from runner.contract.reasons import reason, reason_columns
from runner.contract.record.record import Columns

WHERE = "choice of tokens"
"""The word of `difference_where` for a token that was not the likeliest."""


def judge_choices(columns: Columns, logits: FloatArray, tokens: Tokens, most: float) -> Columns:
    """The columns, changed if choices are nearer to what is allowed than differences are.

    Args:
        columns: those about the differences.
        logits: before each token, with all earlier ones fed: [batch, steps, vocabulary].
        tokens: those that were generated.
        most: the allowed lack, by the logits' root mean square.
    """
    lacks = choice_lacks(logits, tokens)
    share = float(lacks.max(initial=0.0)) / most
    if not share > columns.get("tolerance_share", np.inf):
        return columns
    changed: Columns = {**columns, "tolerance_share": share, "difference_where": WHERE}
    if share <= 1 or columns["correct"] is False:
        return changed
    wrong = int((lacks > most).sum())
    explanation = reason("unlikely_tokens", wrong=wrong, tokens=lacks.size)
    return {**changed, "correct": False, **reason_columns("correct", explanation)}


def choice_lacks(logits: FloatArray, tokens: Tokens) -> np.ndarray[Any, np.dtype[np.float64]]:
    """By token, the largest logit less its own, by the root mean square of all."""
    numbers = logits.astype(np.float64)
    chosen = np.take_along_axis(numbers, tokens[..., np.newaxis], axis=-1)[..., 0]
    size = float(np.sqrt(np.mean(numbers**2)))
    lacks: np.ndarray[Any, np.dtype[np.float64]] = (numbers.max(axis=-1) - chosen) / (size or 1.0)
    return lacks
