"""Differences of outputs from the reference: whole, worst row, mean, and what all values share.

What a broken part does wrong differs in kind from what rounding does. Rounding is spread over all
positions and averages out over them; a wrong kernel errs at some positions alone, or everywhere in
the same direction, or by the same factor. A row is the last dimension: the features of one position
of one sample.

Logits of a large vocabulary take gigabytes, so arrays are read a block of rows at a time.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_BLOCK = 2**20  # values of each array that are converted at once: 8 MiB
_CONSTANT = 1e-12  # share of squares below which values are all alike

AnyArray = npt.NDArray[np.generic]
Arrays = Mapping[str, AnyArray]


class Difference(NamedTuple):
    """Differences from the reference, each by the reference's own size."""

    relative: float  # of all values of an output together
    row: float  # of the worst row
    mean: float  # of the mean over all rows of all queries: wrong everywhere in one direction
    shared: float  # of a factor and an offset that all values of all queries share


class Sums(NamedTuple):
    """Sums over the rows of an output, of which all differences are made."""

    rows: int = 0
    values: int = 0
    ours: float = 0.0  # squares of our values
    theirs: float = 0.0  # squares of the reference's
    products: float = 0.0  # products of both
    reference: float = 0.0  # the reference's values
    excess: float = 0.0  # the differences
    errors: float = 0.0  # squares of the differences
    worst_row: float = 0.0  # the largest sum of squares of a row's differences
    largest: float = 0.0  # the largest difference
    direction: npt.NDArray[np.float64] | float = 0.0  # the differences of all rows, by feature

    def plus(self, other: "Sums") -> "Sums":
        pairs: Iterable[tuple[Any, Any]] = zip(self, other, strict=True)
        return Sums(*(mine + theirs for mine, theirs in pairs))._replace(
            worst_row=float(np.maximum(self.worst_row, other.worst_row)),
            largest=float(np.maximum(self.largest, other.largest)),
        )

    @property
    def relative(self) -> float:
        """Euclidean norm of the differences by that of the reference; 0 if both are 0."""
        return _ratio(self.errors**0.5, self.theirs**0.5)

    @property
    def row(self) -> float:
        """Norm of the worst row's differences by the root mean square of all rows' norms."""
        return _ratio(self.worst_row**0.5, self._row_size)

    @property
    def mean(self) -> float:
        """Norm of the mean of all rows' differences by the root mean square of their norms."""
        return _ratio(float(np.linalg.norm(self.direction)) / max(1, self.rows), self._row_size)

    @property
    def shared(self) -> float:
        """Norm of the differences' fit by the reference and a constant, by the reference's."""
        offset, spread = self.excess**2, self.theirs - self.reference**2 / max(1, self.values)
        slope = self.products - self.theirs - self.reference * self.excess / max(1, self.values)
        varies = spread > _CONSTANT * self.theirs
        explained = offset / max(1, self.values) + (slope**2 / spread if varies else 0.0)
        return _ratio(explained**0.5, self.theirs**0.5)

    @property
    def cosine(self) -> float:
        """Cosine of the angle between the two as vectors; 1 if both are 0, 0 if one is."""
        norms = self.ours**0.5 * self.theirs**0.5
        if norms == 0:
            return float(self.ours == self.theirs)
        return float(np.clip(self.products / norms, -1.0, 1.0))

    @property
    def _row_size(self) -> float:
        return float((self.theirs / max(1, self.rows)) ** 0.5)


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
    """The differences of each output, which both hold; means are taken over all queries."""
    sums = {name: sums_of(outputs[name], reference[name]) for name in sorted(reference)}
    queries: dict[str, Sums] = {}
    for name, one in sums.items():
        queries[output_name(name)] = queries.get(output_name(name), Sums()).plus(one)
    whole = {name: queries[output_name(name)] for name in sums}
    return {
        name: Measured(
            Difference(one.relative, one.row, whole[name].mean, whole[name].shared),
            one.largest,
            one.cosine,
        )
        for name, one in sums.items()
    }


def differences_by_output(outputs: Arrays, reference: Arrays) -> dict[str, Difference]:
    """The worst differences of each output over all queries, by its own name."""
    grouped: dict[str, list[Difference]] = {}
    for name, measured in measure_outputs(outputs, reference).items():
        grouped.setdefault(output_name(name), []).append(measured.difference)
    return {name: worst_difference(members) for name, members in grouped.items()}


def sums_of(ours: AnyArray, theirs: AnyArray) -> Sums:
    sums = Sums()
    if not theirs.size:
        return sums
    own_rows, other_rows = as_rows(ours), as_rows(theirs)
    step = max(1, _BLOCK // other_rows.shape[1])
    for start in range(0, len(own_rows), step):
        # As numbers that sums lose little of.
        one = own_rows[start : start + step].astype(np.float64)
        other = other_rows[start : start + step].astype(np.float64)
        error = one - other
        squares = np.square(error).sum(axis=1)
        sums = sums.plus(
            Sums(
                len(one),
                one.size,
                float(np.vdot(one, one)),
                float(np.vdot(other, other)),
                float(np.vdot(one, other)),
                float(other.sum()),
                float(error.sum()),
                float(squares.sum()),
                float(squares.max()),
                float(np.abs(error).max()),
                error.sum(axis=0),
            )
        )
    return sums


def relative_difference(ours: AnyArray, theirs: AnyArray) -> float:
    return sums_of(ours, theirs).relative


def token_agreement(ours: AnyArray, theirs: AnyArray) -> float:
    """Share of tokens that are equal, position by position; 0 if the shapes differ."""
    return float(np.mean(ours == theirs)) if ours.shape == theirs.shape else 0.0


def worst_difference(differences: Iterable[Difference]) -> Difference:
    """The largest of each kind; NaN is larger than everything."""
    return Difference(*map(float, np.max(np.array(list(differences)), axis=0)))


def as_rows(values: AnyArray) -> AnyArray:
    return values.reshape(-1, values.shape[-1] if values.ndim else 1)


def _ratio(difference: float, size: float) -> float:
    if size == 0:
        return 0.0 if difference == 0 else float("inf")
    return difference / size
