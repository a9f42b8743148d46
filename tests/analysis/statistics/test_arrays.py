"""Arrays: what is missing is told with the remedy."""

import sys
from importlib import import_module

import pytest

from runner.contract.errors import UsageError, how_to_install


@pytest.mark.parametrize(("module", "missing"), [("arrays", "numpy"), ("solvers", "scipy.stats")])
def test_without_a_library_the_refusal_names_the_extra(
    module: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"analysis.statistics.{module}", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match="need the extra `analysis`") as refusal:
        import_module(f"analysis.statistics.{module}")
    assert how_to_install("analysis") in str(refusal.value.hint)
