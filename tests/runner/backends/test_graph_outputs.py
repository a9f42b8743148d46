"""What is looked at of a graph's outputs."""

import numpy as np
import pytest

from runner.backends.graph_outputs import all_finite, float_outputs
from runner.errors import Unsupported


def test_floating_point_outputs_become_copies_in_fp32_without_caches() -> None:
    half = np.ones(2, dtype=np.float16)
    outputs = {
        "logits": half,
        "past_key_values.layers.0.keys": half,
        "indices": np.ones(2, dtype=np.int64),
    }
    found = float_outputs(outputs)
    assert found.keys() == {"logits"}
    assert found["logits"].dtype == np.float32
    half[:] = 0
    assert found["logits"].all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_none_is_noticed_even_in_a_cache(bad: float) -> None:
    fine = np.ones(3, dtype=np.float32)
    assert all_finite({"logits": fine, "indices": np.ones(2, dtype=np.int64)})
    assert not all_finite({"logits": fine, "past_key_values.0": np.array([1, bad])})


def test_a_graph_without_outputs_cannot_be_checked() -> None:
    with pytest.raises(Unsupported, match="no output"):
        all_finite({})
