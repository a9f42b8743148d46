"""The committed counts are those that the runner's code finds."""

import json

import pytest

from runner.contract.models import ModelSpec, catalogue, find
from tools.count_work import FILE, fit

REFITTED = ("bert-micro", "clip-micro", "qwen2-vl-micro")


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(find(name), id=name, marks=() if name == "bert-micro" else pytest.mark.slow)
        for name in REFITTED
    ],
)
def test_the_committed_counts_are_fresh(model: ModelSpec) -> None:
    committed = json.loads(FILE.read_text("utf-8"))
    assert set(committed) == set(catalogue())
    assert fit(model) == committed[model.name]
