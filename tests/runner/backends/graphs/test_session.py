"""Outputs of a graph, and the columns of a record about it."""

import numpy as np
import pytest

from runner.backends.graphs.session import all_finite, float_outputs


def test_floating_point_outputs_become_copies_in_fp32_without_caches() -> None:
    half = np.ones(2, dtype=np.float16)
    outputs = {
        "logits": half,
        "past_key_values.layers.0.keys": half,
        "indices": np.ones(2, dtype=np.int64),
    }
    result = float_outputs(outputs)
    assert result.keys() == {"logits"}
    assert result["logits"].dtype == np.float32
    half[:] = 0
    assert result["logits"].all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_none_is_noticed_even_in_a_cache(bad: float) -> None:
    fine = np.ones(3, dtype=np.float32)
    assert all_finite({"logits": fine, "indices": np.ones(2, dtype=np.int64)})
    assert not all_finite({"logits": fine, "past_key_values.0": np.array([1, bad])})
