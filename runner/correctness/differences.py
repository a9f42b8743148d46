"""Differences between outputs and reference: as a whole, of the worst row, and of the mean.

What a broken part does wrong differs in kind from what rounding does. Rounding is spread over all
positions and averages out over them; a wrong kernel errs at some positions alone, or everywhere in
the same direction. A row is the last dimension: the features of one position of one sample.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[np.generic]
Arrays = Mapping[str, AnyArray]


class Difference(NamedTuple):
    """Differences from the reference, each by the reference's own size."""

    relative: float
    """Of all values of an output together."""
    row: float
    """Of the worst row."""
    mean: float
    """Of the mean over all rows of all queries: what is wrong everywhere in one direction."""


class Measured(NamedTuple):
    """The differences of one output."""

    difference: Difference
    max_abs: float
    cosine: float


QUERY_PREFIXES = ("", "second.", "third.", "fourth.")
"""Beginnings of outputs' names, by the query that they answer."""


def output_name(name: str) -> str:
    """The output's own name, whichever query it answers."""
    prefix = next((one for one in QUERY_PREFIXES[1:] if name.startswith(one)), "")
    return name.removeprefix(prefix)


def measure_outputs(outputs: Arrays, reference: Arrays) -> dict[str, Measured]:
    """The differences of each output; both hold the same names and shapes.

    An output's mean is taken over all queries, so that one with few rows a query has more.
    """
    ours, theirs = _numbers(outputs), _numbers(reference)
    means = {name: mean_difference(*pair) for name, pair in _by_output(ours, theirs).items()}
    return {
        name: _measure(ours[name], theirs[name], means[output_name(name)])
        for name in sorted(reference)
    }


def differences_by_output(outputs: Arrays, reference: Arrays) -> dict[str, Difference]:
    """The worst differences of each output over all queries, by its own name."""
    grouped: dict[str, list[Difference]] = {}
    for name, measured in measure_outputs(outputs, reference).items():
        grouped.setdefault(output_name(name), []).append(measured.difference)
    return {name: worst_difference(members) for name, members in grouped.items()}


def array_shapes(arrays: Arrays) -> dict[str, list[int]]:
    """The shape of each array, by name."""
    return {name: list(array.shape) for name, array in sorted(arrays.items())}


def relative_difference(ours: AnyArray, theirs: AnyArray) -> float:
    """Euclidean norm of the difference by that of the reference; 0 if both are 0."""
    return _ratio(float(np.linalg.norm(_flat(ours) - _flat(theirs))), _norm(theirs))


def row_difference(ours: AnyArray, theirs: AnyArray) -> float:
    """Norm of the worst row's difference by the root mean square of all rows' norms."""
    errors = np.linalg.norm(as_rows(ours) - as_rows(theirs), axis=1)
    return _ratio(float(np.max(errors, initial=0.0)), _row_size(theirs))


def mean_difference(ours: AnyArray, theirs: AnyArray) -> float:
    """Norm of the mean of all rows' differences by the root mean square of their norms."""
    if not theirs.size:
        return 0.0
    difference = (as_rows(ours) - as_rows(theirs)).mean(axis=0)
    return _ratio(float(np.linalg.norm(difference)), _row_size(theirs))


def cosine_similarity(ours: AnyArray, theirs: AnyArray) -> float:
    """Cosine of the angle between the two as vectors; 1 if both are 0, 0 if one is."""
    norms = _norm(ours) * _norm(theirs)
    if norms == 0:
        return float(not _flat(ours).any() and not _flat(theirs).any())
    return float(np.clip(_flat(ours) @ _flat(theirs) / norms, -1.0, 1.0))


def token_agreement(ours: AnyArray, theirs: AnyArray) -> float:
    """Share of tokens that are equal, position by position; 0 if the shapes differ."""
    return float(np.mean(ours == theirs)) if ours.shape == theirs.shape else 0.0


def worst_difference(differences: Iterable[Difference]) -> Difference:
    """The largest of each kind; NaN is larger than everything."""
    return Difference(*map(float, np.max(np.array(list(differences)), axis=0)))


def as_rows(values: AnyArray) -> npt.NDArray[np.float64]:
    """The array as [rows, features]."""
    numbers = values.astype(np.float64, copy=False)
    return numbers.reshape(-1, values.shape[-1] if values.ndim else 1)


def _numbers(arrays: Arrays) -> dict[str, npt.NDArray[np.float64]]:
    """The arrays as numbers that sums lose little of, converted once for all differences."""
    return {name: array.astype(np.float64) for name, array in arrays.items()}


def _by_output(outputs: Arrays, reference: Arrays) -> dict[str, tuple[AnyArray, AnyArray]]:
    """The rows of all queries together, by the output's own name."""
    members: dict[str, list[str]] = {}
    for name in sorted(reference):
        members.setdefault(output_name(name), []).append(name)
    return {
        output: (
            np.concatenate([as_rows(outputs[name]) for name in names]),
            np.concatenate([as_rows(reference[name]) for name in names]),
        )
        for output, names in members.items()
    }


def _measure(ours: AnyArray, theirs: AnyArray, mean: float) -> Measured:
    return Measured(
        difference=Difference(
            relative_difference(ours, theirs), row_difference(ours, theirs), mean
        ),
        max_abs=float(np.max(np.abs(_flat(ours) - _flat(theirs)), initial=0.0)),
        cosine=cosine_similarity(ours, theirs),
    )


def _ratio(difference: float, size: float) -> float:
    if size == 0:
        return 0.0 if difference == 0 else float("inf")
    return difference / size


def _norm(values: AnyArray) -> float:
    return float(np.linalg.norm(_flat(values)))


def _row_size(values: AnyArray) -> float:
    return float(_norm(values) / max(1, len(as_rows(values))) ** 0.5)


def _flat(values: AnyArray) -> npt.NDArray[Any]:
    return values.astype(np.float64, copy=False).ravel()
