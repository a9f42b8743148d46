"""Sparklines: levels, many values, equal ones, and what a plain terminal gets."""

import io

import pytest

from orchestrator.screen.tables import has_blocks, sparkline


@pytest.mark.parametrize(
    ("values", "blocks", "plain"),
    [
        ([], "", ""),
        ([5.0], "▄", "~"),
        ([1, 1, 1], "▄▄▄", "~~~"),
        ([1, 2, 3, 4, 5, 6, 7, 8], "▁▂▃▄▅▆▇█", "_.-~=+*#"),
        ([8, 1], "█▁", "#_"),
        ([1, 1, 8, 8], "▁▁██", "__##"),
    ],
)
def test_each_value_is_a_level(values: list[float], blocks: str, plain: str) -> None:
    assert sparkline(values, blocks=True) == blocks
    assert sparkline(values, blocks=False) == plain


def test_many_values_are_means_of_neighbours() -> None:
    assert sparkline([0, 2, 0, 2, 7, 9, 7, 9], blocks=False, width=2) == "_#"
    assert len(sparkline(range(1_000), blocks=True)) == 24


def test_pipes_get_plain_letters() -> None:
    assert not has_blocks(io.StringIO())
