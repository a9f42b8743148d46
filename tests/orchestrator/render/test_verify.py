"""A verification on the screen: models × paths, and why."""

import json

import pytest

from orchestrator.render.verify import print_verified
from orchestrator.verification import Verified
from tests.verdicts import a_cell, a_verification

Capture = pytest.CaptureFixture[str]


FOUND = a_verification(
    a_cell(),
    a_cell(runtime="onnxruntime"),
    a_cell(model="qwen2-vl-micro"),
    a_cell(
        "unsupported",
        "no prepared graph: a guard",
        model="qwen2-vl-micro",
        runtime="onnxruntime",
    ),
)


def test_the_table_shows_every_model_on_every_path_and_the_reasons(capsys: Capture) -> None:
    print_verified(FOUND, as_json=False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["model", "mode", "cpu", "torch", "cpu", "onnxruntime"]
    assert lines[1] == ["bert-micro", "inference", "ok", "ok"]
    assert lines[2] == ["qwen2-vl-micro", "inference", "ok", "unsupported", "[1]"]
    assert " ".join(lines[4]) == "[1] no prepared graph: a guard"
    assert " ".join(lines[5]) == "4 cells: 3 ok, 1 unsupported"
    assert lines[6][:3] == ["ok:", "works", "on"]


def test_the_shapes_that_were_compared_are_named_once(capsys: Capture) -> None:
    shapes = ("b2-s32", "b2-i64", "b2-s32", None)
    cells = [a_cell(verified_shape=shape) for shape in shapes]
    print_verified(a_verification(*cells), as_json=False)
    assert capsys.readouterr().out.splitlines()[-1] == "outputs were compared at b2-i64, b2-s32"


def test_as_json_it_is_what_is_saved(capsys: Capture) -> None:
    print_verified(FOUND, as_json=True)
    assert Verified.model_validate(json.loads(capsys.readouterr().out)) == FOUND
