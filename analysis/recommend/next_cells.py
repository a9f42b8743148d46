"""The cells whose measurement would narrow the predictions of all others most.

With the covariance C of `remaining_covariance`, measuring cell j takes C[i,j]² / (C[j,j] + 1) from
the variance of cell i (MacKay 1992, Neural Computation 4; docs/decisions/0032). The cell that takes
most from all comes first, then the one that takes most of what that leaves (Krause, Singh and
Guestrin 2008, JMLR 9).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.predict.effects import design_of
from analysis.predict.examples.placements import Placement
from analysis.statistics.arrays import Values, ValueTable, np

if TYPE_CHECKING:
    from analysis.statistics.solvers import sparse

MOST_KNOWN = 2_000
"""Measured placements that count: the most closely related ones where there are more."""
_COMMON = 0.05
"""The share of rows from which on a column is multiplied as a dense one."""
MOST_WEIGHED = 3_000
"""Cells that are weighed against each other; of more, so many are drawn, always the same."""
_NOISE = 1.0
"""The variance of what effects do not tell, in that of a column of their design."""
_SEED = 0


def remaining_covariance(wanted: Sequence[Placement], known: Sequence[Placement]) -> ValueTable:
    """The covariance of effects at placements after known ones were measured; (n, n), in s².

    Effects are a Bayesian linear model (Lindley and Smith 1972, "Bayes estimates for the linear
    model"). With the rows of `design_of`, whose columns are scaled by the penalties, a logarithm is
    z·b + e, where b has the variance s² in each column and e the variance s². After rows K were
    measured, rows A have the covariance

        s² (A Aᵀ − A Kᵀ (K Kᵀ + N)⁻¹ K Aᵀ),

    N diagonal with 1/n for a row that was measured n times. No measured value changes it, and it
    asks for products of rows alone, so that it does not matter how many columns there are.
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
        dense = self._dense[one] @ self._dense[other].T
        return np.asarray(dense + (self._rare[one] @ self._rare[other].T).toarray())

    def sums_of_products(self, one: Sequence[int], other: Sequence[int]) -> Values:
        rare = np.asarray(self._rare[other].sum(axis=0)).ravel()
        return np.asarray(
            self._dense[one] @ self._dense[other].sum(axis=0) + self._rare[one] @ rare
        )


def _related(rows: _Rows, wanted: Sequence[int], known: Sequence[int]) -> Sequence[int]:
    """The known rows that share most with those that are wanted."""
    if len(known) <= MOST_KNOWN:
        return known
    order = np.argsort(-rows.sums_of_products(known, wanted), kind="stable")[:MOST_KNOWN]
    return sorted(known[int(number)] for number in order)


@dataclass(frozen=True)
class NextCell:
    """A cell whose measurement is proposed."""

    index: int
    interval_share: float | None
    """The mean interval of the cells that stay without a measurement, once this one and those
    before it are measured, by the mean interval now; None if no cell stays."""


def weighed_numbers(count: int) -> list[int]:
    """The numbers of the candidates that are weighed against each other, in their order."""
    if count <= MOST_WEIGHED:
        return list(range(count))
    order = np.random.default_rng(_SEED).permutation(count)
    return sorted(int(number) for number in order[:MOST_WEIGHED])


def propose_cells(
    candidates: Sequence[Placement],
    known: Sequence[Placement],
    limit: int,
    *,
    seconds: Sequence[float] | None = None,
    half_widths: Sequence[float] | None = None,
) -> list[NextCell]:
    """The candidates whose measurement would narrow the intervals of the others most.

    At most `MOST_WEIGHED` of them. Known ones come with repeats; without any the answer fills the
    space. With `seconds` the narrowing counts by the second. `half_widths`, half of each interval
    as a logarithm, count for the shares alone: to prefer wide intervals helps less
    (docs/decisions/0032).
    """
    count = len(candidates)
    covariance = remaining_covariance(candidates, known)
    costs = np.ones(count) if seconds is None else _positive(seconds)
    now = np.sqrt(covariance.diagonal() + _NOISE)
    scales = np.ones(count) if half_widths is None else _positive(half_widths) / now
    chosen, variances = _chosen(covariance, costs, min(limit, count))
    others = np.setdiff1d(np.arange(count), chosen)
    before = (scales * now)[others].sum()
    if not len(others):
        return [NextCell(index, None) for index in chosen]
    return [
        NextCell(index, float((scales * np.sqrt(left + _NOISE))[others].sum() / before))
        for index, left in zip(chosen, variances, strict=True)
    ]


def _chosen(covariance: ValueTable, costs: Values, limit: int) -> tuple[list[int], list[Values]]:
    """The cells one after the other, and what each leaves of all variances."""
    left, chosen, variances = covariance.copy(), list[int](), list[Values]()
    for _ in range(limit):
        gains = np.einsum("ij,ij->j", left, left) / (left.diagonal() + _NOISE)
        gains[chosen] = -1.0
        best = int(np.argmax(gains / costs))
        column = left[best] / np.sqrt(left[best, best] + _NOISE)
        left -= np.outer(column, column)
        chosen.append(best)
        variances.append(np.maximum(left.diagonal(), 0.0))
    return chosen, variances


def _positive(values: Sequence[float]) -> Values:
    return np.asarray(np.maximum(np.array(values, dtype=float), 1e-9))
