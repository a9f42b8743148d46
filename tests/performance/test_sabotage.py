"""Broken models are wrong, and honest ones right: the proof that the check checks."""

from collections.abc import Mapping

import pytest

from performance.sabotage import HONEST, PRECISIONS, shares_of
from runner.contract.cell import Precision
from runner.contract.models import model_sets

_ONE_LAYER = "one layer's weights at half the bits"
UNCAUGHT: Mapping[Precision, frozenset[str]] = {
    "bf16": frozenset({_ONE_LAYER}),
    "int8": frozenset({_ONE_LAYER}),
}
"""Faults that the precision's own rounding can hide."""


def missed(shares: Mapping[str, float | None], precision: Precision) -> list[str]:
    """The faults that were not found."""
    excused = {HONEST, *UNCAUGHT.get(precision, ())}
    return [
        f"{name}: {share:.2g}"
        for name, share in shares.items()
        if share is not None and share <= 1 and name not in excused
    ]


def test_the_faults_of_a_classifier_are_found_in_int8() -> None:
    (shares,) = shares_of("vit-micro", ["int8"]).values()
    assert shares[HONEST] <= 1
    assert missed(shares, "int8") == []
    applied = [name for name, share in shares.items() if share is not None]
    assert len(applied) > 15


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted({*model_sets()["micro"], *model_sets()["small"]}))
def test_every_fault_is_found_in_every_precision(model: str) -> None:
    by_precision = shares_of(model, PRECISIONS)
    assert all(shares[HONEST] <= 1 for shares in by_precision.values())
    assert {name: missed(shares, name) for name, shares in by_precision.items()} == {
        name: [] for name in PRECISIONS
    }
