"""Prepared graphs on the screen."""

import json
from dataclasses import replace

import pytest

from orchestrator.app.measure.prepare import Prepared
from orchestrator.app.measure.verify import Verified
from orchestrator.render.verify import print_prepared, print_verified, table_of
from tests.support.verdicts import a_cell, a_verification

Capture = pytest.CaptureFixture[str]
MADE = Prepared("bert-tiny", "forward", "fp32", "dynamic", "dynamic shapes", 1.5e-7, 2 << 20, 4.51)
FAILED = Prepared("qwen2-vl", "forward", "fp32", "b1", failure="dynamic shapes: a guard\nparts: no")


def test_every_graph_has_a_row_and_every_failure_one_line(capsys: Capture) -> None:
    print_prepared([MADE, FAILED, replace(FAILED, shape="b2")], as_json=False)
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
    print_prepared([MADE, FAILED], as_json=True)
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


def test_models_are_rows_paths_are_columns_reasons_stand_below_once() -> None:
    guard = "no prepared graph: a guard"
    cells = [
        a_cell(),
        a_cell("unsupported", guard, runtime="onnxruntime"),
        a_cell(model="t5-micro"),
        a_cell("unsupported", guard, model="t5-micro", runtime="onnxruntime"),
        a_cell("wrong", "differs", model="t5-micro", mode="generation"),
    ]
    table = table_of(cells)
    assert table.columns == ("cpu torch", "cpu onnxruntime")
    assert [(row.model, row.mode) for row in table.rows] == [
        ("bert-micro", "inference"),
        ("t5-micro", "inference"),
        ("t5-micro", "generation"),
    ]
    assert table.reasons == (guard, "differs")
    assert [table.text(row, "cpu torch") for row in table.rows] == ["ok", "ok", "wrong [2]"]
    assert [table.text(row, "cpu onnxruntime") for row in table.rows] == [
        "unsupported [1]",
        "unsupported [1]",
        "",
    ]


def test_columns_tell_precisions_other_than_fp32_alone() -> None:
    other = {"backend": "qnn", "runtime": "onnxruntime", "precision": "fp16"}
    openvino = {"backend": "openvino", "runtime": "openvino"}
    table = table_of([a_cell(), a_cell(precision="int8"), a_cell(**other), a_cell(**openvino)])
    assert table.columns == ("cpu torch fp32", "cpu torch int8", "qnn fp16", "openvino")


def test_generation_by_a_model_that_writes_no_tokens_takes_no_row() -> None:
    no = "generation is not possible with bert-micro: its task is fill-mask"
    cells = [
        a_cell(),
        a_cell("unsupported", no, mode="generation"),
        a_cell("unsupported", no, mode="generation", runtime="onnxruntime"),
    ]
    table = table_of(cells)
    assert [row.mode for row in table.rows] == ["inference"]
    assert table.reasons == ()


def test_one_path_keeps_the_models_that_it_cannot_run() -> None:
    openvino = {"backend": "openvino", "runtime": "openvino"}
    cells = [
        a_cell("unsupported", "a guard", **openvino),
        a_cell("unsupported", "a loop", model="gpt2-micro", mode="generation", **openvino),
    ]
    table = table_of(cells)
    assert [(row.model, table.text(row, "openvino")) for row in table.rows] == [
        ("bert-micro", "unsupported [1]"),
        ("gpt2-micro", "unsupported [2]"),
    ]
    assert table.reasons == ("a guard", "a loop")


def test_a_reason_shared_by_all_paths_keeps_the_row() -> None:
    no = {"mark": "unsupported", "reason": "no prepared graph: a guard"}
    table = table_of([a_cell(**no), a_cell(**no, runtime="onnxruntime")])
    assert [row.model for row in table.rows] == ["bert-micro"]
    assert table.reasons == (no["reason"],)


@pytest.mark.parametrize(
    ("mark", "changes"),
    [
        ("failed", {}),
        ("ok", {"mode": "generation"}),
        ("unsupported", {"mode": "generation", "model": "not-in-the-catalogue"}),
        ("unsupported", {"mode": "training"}),
    ],
    ids=["failed", "worked", "unknown", "other-mode"],
)
def test_what_may_be_possible_keeps_its_row(mark: str, changes: dict[str, str]) -> None:
    assert len(table_of([a_cell(mark, "x", **changes)]).rows) == 1
