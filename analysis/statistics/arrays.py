"""numpy for statistics and predictions: the extra `analysis` installs it.

A module that imports this needs the extra; one that does not runs without. What scipy has stands
in `significance` and `solvers`, since it takes longer to import than a prediction to make.
"""

from typing import TypeAlias

from runner.contract.errors import UsageError, how_to_install


def missing_extra() -> UsageError:
    """The error that says how to install what is missing."""
    return UsageError(
        "verdicts and predictions need the extra `analysis`, which is not installed",
        hint=f"{how_to_install('analysis')} installs it",
    )


try:
    import numpy as np
except ImportError as error:
    raise missing_extra() from error

__all__ = ["Places", "ValueTable", "Values", "missing_extra", "np"]

Values: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""An array of numbers of double precision."""
Places: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
"""An array of indices."""
ValueTable: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""The same with rows and columns."""
