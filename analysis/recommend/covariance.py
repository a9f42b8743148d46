"""The covariance of effects after measurements, which no measured value changes.

Effects are a Bayesian linear model (Lindley and Smith 1972, "Bayes estimates for the linear
model"). With the rows of `design_of`, whose columns are scaled by the penalties, a logarithm is
z·b + e, where b has the variance s² in each column and e the variance s². After rows K were
measured, rows A have the covariance

    s² (A Aᵀ − A Kᵀ (K Kᵀ + N)⁻¹ K Aᵀ),  N diagonal with 1/n for a row that was measured n times,

which asks for products of rows alone, so that it does not matter how many columns there are.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from analysis.predict.examples.placements import Placement
from analysis.predict.regression import design_of
from analysis.statistics.arrays import Values, ValueTable, np

if TYPE_CHECKING:
    from analysis.statistics.solvers import sparse

MOST_KNOWN = 2_000
"""Measured placements that count: the most closely related ones where there are more."""
_COMMON = 0.05
"""The share of rows from which on a column is multiplied as a dense one."""


def remaining_covariance(wanted: Sequence[Placement], known: Sequence[Placement]) -> ValueTable:
    """The covariance of effects at these placements after those were measured; (n, n), in s².

    Args:
        wanted: placements that are predicted.
        known: what was measured, repeats included; empty where nothing was.
    """
    repeats = Counter(known)
    rows = _Rows(design_of([*wanted, *repeats], "whole").matrix)
    own = range(len(wanted))
    prior = rows.products(own, own)
    if not repeats:
        return prior
    counts = [*repeats.values()]
    chosen = _related(rows, own, range(len(wanted), len(wanted) + len(repeats)))
    shared = rows.products(chosen, own)
    noise = np.diag([1 / counts[row - len(wanted)] for row in chosen])
    return prior - shared.T @ np.linalg.solve(rows.products(chosen, chosen) + noise, shared)


class _Rows:
    """Rows of a design, of which few columns are common to many."""

    def __init__(self, matrix: "sparse.csr_matrix") -> None:
        counts = matrix.getnnz(axis=0)
        common = counts > _COMMON * matrix.shape[0]
        self._dense: ValueTable = matrix[:, np.flatnonzero(common)].toarray()
        self._rare = matrix[:, np.flatnonzero(~common & (counts > 0))]

    def products(self, one: Sequence[int], other: Sequence[int]) -> ValueTable:
        """The products of each of these rows with each of those."""
        dense = self._dense[one] @ self._dense[other].T
        return np.asarray(dense + (self._rare[one] @ self._rare[other].T).toarray())

    def sums_of_products(self, one: Sequence[int], other: Sequence[int]) -> Values:
        """The sum of each of these rows' products with those."""
        rare = np.asarray(self._rare[other].sum(axis=0)).ravel()
        return np.asarray(
            self._dense[one] @ self._dense[other].sum(axis=0) + self._rare[one] @ rare
        )


def _related(rows: _Rows, wanted: Sequence[int], known: Sequence[int]) -> Sequence[int]:
    """The known rows that share most with those that are wanted."""
    if len(known) <= MOST_KNOWN:
        return known
    shared = rows.sums_of_products(known, wanted)
    order = np.argsort(-shared, kind="stable")[:MOST_KNOWN]
    return sorted(known[int(number)] for number in order)
