"""What is missing is told with the remedy; damped least squares against the normal equations."""

import sys
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse

from analysis.statistics.solvers import damped_least_squares
from runner.contract.errors import UsageError, how_to_install


@pytest.mark.parametrize(
    ("module", "missing"),
    [("arrays", "numpy"), ("significance", "scipy.special"), ("solvers", "scipy.optimize")],
)
def test_without_a_library_the_refusal_names_the_extra(
    module: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"analysis.statistics.{module}", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match="need the extra `analysis`") as refusal:
        import_module(f"analysis.statistics.{module}")
    assert how_to_install("analysis") in str(refusal.value.hint)


def test_the_solution_is_that_of_the_normal_equations() -> None:
    random = np.random.default_rng(3)
    matrix = sparse.random(60, 25, density=0.2, random_state=random, format="csr")
    y = random.normal(size=60)
    dense = matrix.toarray()
    expected = np.linalg.solve(dense.T @ dense + np.eye(25), dense.T @ y)
    assert damped_least_squares(matrix, y, 100) == pytest.approx(expected, abs=1e-6)
    assert np.abs(damped_least_squares(matrix, y, 2) - expected).max() > 1e-3
    assert not damped_least_squares(matrix, np.zeros(60), 10).any()
