"""What a query over a prepared graph gave, once it lies on the host."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.backends.base import Array
from runner.errors import Unsupported

CACHES = ("past_key_values", "cache_params")
"""Outputs that a later call would take as inputs."""

Outputs = Mapping[str, npt.NDArray[Any]]
"""Outputs by the dotted paths that the model's own have."""


def float_outputs(outputs: Outputs) -> dict[str, Array]:
    """Copies of the floating-point outputs as fp32, without caches."""
    return {
        name: np.array(value, dtype=np.float32)
        for name, value in outputs.items()
        if np.issubdtype(value.dtype, np.floating) and name.split(".")[0] not in CACHES
    }


def all_finite(outputs: Outputs) -> bool:
    """Whether the outputs hold neither NaN nor infinity.

    Raises:
        Unsupported: there is none.
    """
    if not outputs:
        raise Unsupported("the graph gives no output that could be checked")
    return all(bool(np.isfinite(value).all()) for value in outputs.values())
