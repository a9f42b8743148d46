"""The order in which ways of exporting are tried."""

import pytest

from runner.contract.models import find
from runner.export.strategies import whole_or_split_strategies, whole_strategies

GRID = "static shape, image geometry as constants"


def test_the_first_way_lets_every_axis_vary_and_the_others_fix_them() -> None:
    assert [strategy.name for strategy in whole_strategies(find("bert-tiny"))] == [
        "dynamic shapes",
        "static shape",
        "static shape, eager attention",
        "static shape, eager attention, TorchScript exporter",
    ]


def test_a_grid_of_patches_becomes_constant_before_all_else() -> None:
    assert [strategy.name for strategy in whole_strategies(find("qwen2-vl-micro"))] == [
        "dynamic shapes",
        "static shape",
        GRID,
        f"{GRID}, eager attention",
        f"{GRID}, eager attention, TorchScript exporter",
    ]


@pytest.mark.parametrize(
    ("model", "shape"), [("llava-next-micro", "static shape"), ("qwen3-vl-micro", GRID)]
)
def test_what_sees_and_reads_is_taken_apart_at_last(model: str, shape: str) -> None:
    *before, last = whole_or_split_strategies(find(model))
    assert tuple(before) == whole_strategies(find(model))
    assert last.name == f"{shape}, eager attention, parts: vision tower, language model"


@pytest.mark.parametrize("model", ["bert-tiny", "clip-micro", "whisper-micro"])
def test_what_does_not_stays_whole(model: str) -> None:
    assert whole_or_split_strategies(find(model)) == whole_strategies(find(model))
