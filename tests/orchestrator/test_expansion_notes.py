"""Whoever names a value that no cell has is told so, in words that name what it takes."""

from typing import Any

import pytest

from orchestrator.expand import expand
from tests.orchestrator.matrices import matrix_of


def notes(axes: dict[str, Any], **rest: Any) -> list[str]:
    return list(expand(matrix_of({"model": "gpt2", **axes}, **rest)).notes)


@pytest.mark.parametrize(
    ("axes", "became"),
    [
        (
            {"mode": ["inference", "generation"], "new_tokens": [8, 16]},
            "4 combinations are 3 cells, because only generation has new_tokens",
        ),
        (
            {"mode": ["training", "inference"], "scenario": ["single_stream", "offline"]},
            "4 combinations are 3 cells, because only inference has a scenario",
        ),
        (
            {"scenario": "offline", "batch_size": [1, 2, 4]},
            "3 combinations are 1 cell, because offline finds its own batch_size",
        ),
        (
            {"scenario": ["server", "offline"], "target_qps": [1, 2]},
            "4 combinations are 3 cells, because only the scenario server has a target_qps",
        ),
        (
            {"scenario": "server", "target_qps": [1, "find_peak"], "slo_ms": [10, 20]},
            "4 combinations are 3 cells, because only a rate that is sought has an slo_ms",
        ),
        (
            {
                "mode": ["inference", "generation"],
                "scenario": ["offline", "server"],
                "batch_size": [1, 2],
                "new_tokens": [8, 16],
            },
            "16 combinations are 7 cells, because offline finds its own batch_size, "
            "only generation has new_tokens and only inference has a scenario",
        ),
    ],
)
def test_what_falls_together_is_told_with_the_axis_that_did_it(
    axes: dict[str, Any], became: str
) -> None:
    assert notes(axes) == [f"gpt2: {became}"]


def test_each_model_has_its_own_note() -> None:
    axes = {"model": ["gpt2", "vit-base"], "sequence_length": [64, 128]}
    assert notes(axes) == [
        "vit-base: 2 combinations are 1 cell, because it takes no sequence_length"
    ]


@pytest.mark.parametrize(
    ("axes", "note"),
    [
        ({"new_tokens": 8}, "no cell knows new_tokens: that takes mode generation"),
        (
            {"mode": "training", "scenario": "offline"},
            "no cell knows scenario: that takes mode inference",
        ),
        (
            {"image_size": 224},
            "no cell knows image_size: that takes a model for images of several sizes",
        ),
        (
            {"audio_seconds": 5},
            "no cell knows audio_seconds: that takes a model for sounds of any length",
        ),
        ({"target_qps": 8}, "no cell knows target_qps: that takes scenario server"),
        (
            {"scenario": "server", "target_qps": 8, "slo_ms": 5},
            "no cell knows slo_ms: that takes scenario server and target_qps find_peak",
        ),
    ],
)
def test_an_axis_that_no_cell_knows_is_told(axes: dict[str, Any], note: str) -> None:
    assert notes(axes) == [note]


def test_an_axis_that_only_include_names_is_told_too() -> None:
    assert notes({}, include=[{"slo_ms": 5}]) == [
        "no cell knows slo_ms: that takes scenario server and target_qps find_peak"
    ]


def test_what_every_cell_knows_needs_no_note() -> None:
    axes = {"scenario": "server", "target_qps": "find_peak", "slo_ms": [5, 10]}
    assert notes(axes) == []
