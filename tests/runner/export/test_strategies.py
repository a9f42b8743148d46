"""The order in which ways of exporting are tried."""

import pytest

from runner.contract.models import find
from runner.export.strategies import whole_or_split_strategies, whole_strategies

STATIC, EAGER, SCRIPT = "static shape", "eager attention", "TorchScript exporter"
GRID = f"{STATIC}, image geometry as constants"


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("bert-tiny", [STATIC, f"{STATIC}, {EAGER}", f"{STATIC}, {EAGER}, {SCRIPT}"]),
        ("qwen2-vl-micro", [STATIC, GRID, f"{GRID}, {EAGER}", f"{GRID}, {EAGER}, {SCRIPT}"]),
    ],
)
def test_every_axis_varies_at_first_and_constants_come_before_all_else(
    model: str, names: list[str]
) -> None:
    ways = [strategy.name for strategy in whole_strategies(find(model))]
    assert ways == ["dynamic shapes", *names]


@pytest.mark.parametrize(
    ("model", "shape"), [("llava-next-micro", STATIC), ("qwen3-vl-micro", GRID)]
)
def test_what_sees_and_reads_is_taken_apart_at_last(model: str, shape: str) -> None:
    *before, last = whole_or_split_strategies(find(model))
    assert tuple(before) == whole_strategies(find(model))
    assert last.name == f"{shape}, eager attention, parts: vision tower, language model"


@pytest.mark.parametrize("model", ["bert-tiny", "clip-micro", "whisper-micro"])
def test_what_does_not_stays_whole(model: str) -> None:
    assert whole_or_split_strategies(find(model)) == whole_strategies(find(model))
