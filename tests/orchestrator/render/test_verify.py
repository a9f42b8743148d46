"""Prepared graphs on the screen."""

import json
from dataclasses import replace

import pytest

from orchestrator.app.measure.prepare import Preparation, PreparedGraph
from orchestrator.app.measure.verification import Verification
from orchestrator.render.verify import print_prepared, print_verification
from tests.support.results import a_cell, a_verification

Capture = pytest.CaptureFixture[str]
MADE = PreparedGraph(
    "bert-tiny", "forward", "fp32", "dynamic", "dynamic shapes", 1.5e-7, 2 << 20, 4.51
)
FAILED = PreparedGraph(
    "qwen2-vl", "forward", "fp32", "b1", failure="dynamic shapes: a guard\nparts: no"
)


def test_every_graph_has_a_row_and_every_failure_one_line(capsys: Capture) -> None:
    print_prepared(Preparation((MADE, FAILED, replace(FAILED, shape="b2"))), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        *("model", "content", "numbers", "shape", "exported", "by", "difference", "size", "seconds")
    ]
    assert lines[1].split()[4:] == ["dynamic", "shapes", "1.5e-07", "2MiB", "4.51"]
    assert lines[2].split()[4:] == ["failed", "–", "–", "–"]
    assert lines[4:] == [
        "",
        "qwen2-vl (forward, fp32): dynamic shapes: a guard; parts: no",
        "1 of 3 graphs at hand",
    ]


def test_as_json_it_is_the_same_data(capsys: Capture) -> None:
    print_prepared(Preparation((MADE, FAILED)), as_json=True)
    made, failed = json.loads(capsys.readouterr().out)
    assert (made["remedy"], made["size_bytes"]) == ("dynamic shapes", 2 << 20)
    assert (failed["remedy"], failed["failure"]) == (None, "dynamic shapes: a guard\nparts: no")


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
    print_verification(FOUND, as_json=False)
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
    print_verification(a_verification(*cells), as_json=False)
    assert capsys.readouterr().out.splitlines()[-1] == "outputs were compared at b2-i64, b2-s32"


def test_as_json_it_is_what_is_saved(capsys: Capture) -> None:
    print_verification(FOUND, as_json=True)
    assert Verification.model_validate(json.loads(capsys.readouterr().out)) == FOUND
