"""The order in which ways of exporting are tried."""

from runner.export.remedies import DYNAMIC_SHAPES, static_remedies
from runner.models import find


def test_the_first_way_lets_every_axis_vary() -> None:
    assert DYNAMIC_SHAPES.name == "dynamic shapes"


def test_then_come_ways_that_fix_them() -> None:
    assert [remedy.name for remedy in static_remedies(find("bert-tiny"))] == [
        "static shape",
        "static shape, eager attention",
        "static shape, eager attention, TorchScript exporter",
    ]


def test_a_grid_of_patches_becomes_constant_before_all_else() -> None:
    assert [remedy.name for remedy in static_remedies(find("qwen2-vl-micro"))] == [
        "static shape",
        "static shape, image geometry as constants",
        "static shape, image geometry as constants, eager attention",
        "static shape, image geometry as constants, eager attention, TorchScript exporter",
    ]
