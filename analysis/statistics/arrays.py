"""numpy and scipy for statistics and predictions: the extra `analysis` installs them.

A module that imports this needs the extra; one that does not runs without.
"""

from typing import TypeAlias

from runner.contract.errors import UsageError

try:
    import numpy as np
    from scipy import sparse
    from scipy.optimize import nnls
    from scipy.sparse.linalg import lsmr
    from scipy.special import stdtr, stdtrit
    from scipy.stats import false_discovery_control
except ImportError as error:
    raise UsageError(
        "regression verdicts need the extra `analysis`, which is not installed",
        hint="`pip install 'accelmatrix[analysis]'`, or `make install` in a checkout",
    ) from error

__all__ = [
    "Matrix",
    "Values",
    "false_discovery_control",
    "lsmr",
    "nnls",
    "np",
    "sparse",
    "stdtr",
    "stdtrit",
]

Values: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""An array of numbers of double precision."""
Matrix: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""The same with rows and columns."""
