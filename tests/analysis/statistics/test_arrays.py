"""Arrays: what is missing is told with the remedy."""

import sys
from importlib import import_module

import pytest

from runner.contract.errors import UsageError


@pytest.mark.parametrize("missing", ["numpy", "scipy.stats"])
def test_without_a_library_the_refusal_names_the_extra(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "analysis.statistics.arrays", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match="need the extra `analysis`") as refusal:
        import_module("analysis.statistics.arrays")
    assert "pip install 'accelmatrix[analysis]'" in str(refusal.value.hint)
